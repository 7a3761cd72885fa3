"""Rocket League on RocketSim, the game's real physics.

`setup` the collision meshes; `settings` what is played and paid; `field` measures and columns; `simulator` RocketSim
behind arrays; `arena` many matches at once; `referee` clock and score; `observation`, `actions`, `rewards`, `states`
what a seat sees, does, gets and starts from; `curriculum` stages; `players` built-in opponents; `net` the network.
"""

from sparring.games.rocket.game import GAME

__all__ = ["GAME"]
