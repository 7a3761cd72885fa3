"""What is tried: cells, each a setting of simulators, matches and workers, or of servers that battles go over."""

from collections.abc import Iterator, Sequence
from itertools import product

import msgspec

from sparring.core import Game, InputError, Spread
from sparring.core.machine import cores
from sparring.core.settings import Count, NonNegativeInt
from sparring.training.config import load_config

MOST_CELLS = 200


class Cell(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One setting."""

    simulators: NonNegativeInt | None = None
    """Processes or threads of the game's own, where it has such a setting; with workers, of each of them."""
    matches: Count
    workers: NonNegativeInt = 0
    servers: NonNegativeInt = 0
    """Servers on this machine that the matches go over; 0: none, matches are played in the arena."""

    @property
    def lanes(self) -> int:
        """In how many places at the same time engines step."""
        return max(1, self.servers, self.workers * max(1, self.simulators or 1), self.simulators or 1)

    @property
    def text(self) -> str:
        """As people read it."""
        parts = {"servers": self.servers or None, "simulators": self.simulators, "workers": self.workers}
        named = [f"{name} {value}" for name, value in parts.items() if value is not None]
        return ", ".join([*named, f"matches {self.matches}"])


def overrides(cell: Cell, game: Game) -> list[str]:
    """The cell as `key=value` settings that `sparring train` takes."""
    spread = [f"settings.{game.spread}={cell.simulators}"] if isinstance(game, Spread) else []
    return [f"matches={cell.matches}", f"workers={cell.workers}", *spread]


def grid(
    game: Game,
    *,
    matches: Sequence[int],
    workers: Sequence[int] | None,
    simulators: Sequence[int] | None,
    servers: Sequence[int],
    cores: int,
) -> list[Cell]:
    """Every combination of what is given. What is not given is chosen for `cores` and combined as far as they go."""
    spread = isinstance(game, Spread)
    if simulators is not None and not spread:
        raise InputError(f"--simulators: {game.name} has no processes or threads of its own; use --workers")
    several = sorted({1, max(1, cores // 2), cores})
    chosen: Sequence[int | None] = simulators if simulators is not None else several if spread else (None,)
    cells = []
    for count, processes, together in product(chosen, [0, *several] if workers is None else workers, matches):
        cell = Cell(simulators=count, workers=processes, matches=together)
        fits = cell.lanes <= cores or (simulators is not None and workers is not None)
        if fits and together >= processes:
            cells.append(cell)
    first = chosen[0] if chosen else None
    cells += [
        Cell(simulators=first, matches=together, servers=count)
        for count, together in product(filter(None, servers), matches)
        if together >= count
    ]
    unique = list(dict.fromkeys(cells))
    if not unique:
        raise InputError("bench scale: no cell is left; a cell needs at least as many matches as workers or servers")
    if len(unique) > MOST_CELLS:
        raise InputError(f"bench scale: {len(unique)} cells are too many; allowed: {MOST_CELLS}")
    return unique


def preset_grid(
    preset: str,
    given: Sequence[str],
    *,
    matches: str | None,
    workers: str | None,
    simulators: str | None,
    servers: str,
) -> list[Cell]:
    """The cells of a preset, from lists such as `1,2,4` as they are typed."""
    config, game = load_config(preset, given)
    usual = sorted({max(1, config.matches // 2), config.matches, 2 * config.matches})
    return grid(
        game,
        matches=usual if matches is None else numbers(matches, option="--matches", least=1),
        workers=None if workers is None else numbers(workers, option="--workers", least=0),
        simulators=None if simulators is None else numbers(simulators, option="--simulators", least=0),
        servers=numbers(servers, option="--servers", least=0),
        cores=cores(),
    )


def numbers(text: str, *, option: str, least: int) -> list[int]:
    """`1,2,4` as numbers, each once; raises `InputError` for anything else."""

    def read() -> Iterator[int]:
        for part in text.split(","):
            if not part.strip().isdecimal() or int(part) < least or int(part) > 1_000_000:
                raise InputError(f"{option} {text}: {part.strip()!r} is not a number of {least} or more; write 1,2,4")
            yield int(part)

    return list(dict.fromkeys(read()))
