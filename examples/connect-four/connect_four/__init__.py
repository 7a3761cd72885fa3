"""Connect Four as a plug-in for Sparring, small enough to copy when you add a game of your own.

`game` ties it together; `rules` are functions on batches of boards, which `arena`, `model` and `players` share.
"""
