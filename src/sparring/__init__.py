"""Sparring trains game-playing agents by self-play at the speed of the hardware."""

from importlib.metadata import version

from sparring.core import check_arena, load_game
from sparring.core.kernels import keep_kernels_safe

keep_kernels_safe()

__version__ = version("sparring")
__all__ = ["__version__", "check_arena", "load_game"]
