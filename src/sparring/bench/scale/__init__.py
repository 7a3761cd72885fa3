"""How self-play scales on this machine: a grid of settings, measured in turns and halved until the best is found.

`grid` is what is tried, `contest` who is measured next and what came of it, `cell` plays one setting in a process of
its own, `run` joins them.
"""
