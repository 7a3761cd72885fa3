"""Hex: two seats connect their edges of a rhombus; the first to do so wins, and someone always does.

`settings` options; `rules` the kernels; `arena` many matches; `model` states for search; `players` the built-in
heuristic; `human` and `text` for people and files; `net` the network; `game` ties them together.
"""

from typing import TYPE_CHECKING

from sparring.core.lazy import lazy_dir, lazy_names
from sparring.games.hex.game import GAME
from sparring.games.hex.settings import HexNetwork, HexSettings

if TYPE_CHECKING:
    from sparring.games.hex.arena import HexArena, hex_spec
    from sparring.games.hex.model import HexModel
else:
    _ARENA, _MODEL = "sparring.games.hex.arena", "sparring.games.hex.model"
    __getattr__ = lazy_names(__name__, {"HexArena": _ARENA, "hex_spec": _ARENA, "HexModel": _MODEL})

__all__ = ["GAME", "HexArena", "HexModel", "HexNetwork", "HexSettings", "hex_spec"]
__dir__ = lazy_dir(__name__, __all__)
