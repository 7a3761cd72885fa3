"""Connect Four as a plug-in for Sparring, small enough to copy when you add a game of your own.

Read in this order: `game` ties everything together; `rules` are plain functions on batches of boards; `arena` plays
many matches with them; `model` lets search look ahead; `net` is the network; `players` are a heuristic and you.
"""
