"""`sparring doctor`: what of this machine stands in the way, and the command that mends it.

`checks` lists all checks; `processor`, `storage`, `packages` and `device` hold them, each a function that looks at one
thing; a game adds its own (`core.checkup.Checked`). `children` runs what is tried out in processes of their own:
`torch_child` imports torch, `play_child` plays a game.
"""
