"""Tries another version of Showdown than the pinned one, for `sparring setup pokemon --showdown VERSION`.

The version is installed beside the pinned one. Then battles are played with and without the faster engine, which must
be equal, and through the arena, whose trackers and masks must make sense of them; what else is new or gone is listed.
"""

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from sparring.core import IllegalAction, InputError, RandomPlayer, RunError
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.damage.tables import load_tables
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.formats import formats, random_battle_formats
from sparring.games.pokemon.parity import Family, compare
from sparring.games.pokemon.settings import PINNED, PokemonSettings
from sparring.games.pokemon.setup import Installation, run_script, setup_pokemon

_BATTLES = 3
"""Of each format."""
_MOST_NAMED = 6


class _Methods(msgspec.Struct):
    """What the faster engine did to a version."""

    replaced: list[str]
    left: dict[str, str]


def try_version(version: str, say: Callable[[str], None]) -> None:
    """Installs `version`, tries it and tells `say` what came of it; raises `RunError` if it must not be played."""
    found = setup_pokemon(say, version=version)
    methods = msgspec.json.decode(run_script(found, "engine/index.js"), type=_Methods)
    unequal = _compare_engines(found, say)
    troubles = [*_play(version, say), *_check_damage(version)]
    say(f"\npokemon-showdown {version}, tried against what Sparring knows of {PINNED}:")
    say(f"- methods: {len(methods.replaced)} made faster, {len(methods.left)} left as they are{_reasons(methods.left)}")
    say(f"- battles with and without the faster engine: {f'different in {_some(unequal)}' if unequal else 'equal'}")
    say(f"- battles in the arena: {'; '.join(troubles) or 'no trouble'}")
    say(f"- formats: {_difference(formats(), formats(version))}")
    before, after = load_dex(9), load_dex(9, version)
    for kind in ("species", "moves", "abilities", "items"):
        say(f"- {kind}: {_difference(getattr(before, kind).numbers, getattr(after, kind).numbers)}")
    if unequal:
        raise RunError(f"pokemon-showdown {version} cannot be played: the faster engine changes its battles")
    say(f"play it with the setting showdown={version}")


def _compare_engines(found: Installation, say: Callable[[str], None]) -> list[str]:
    """Formats whose battles are not the same with and without the faster engine."""
    families = [
        *(Family(format=id, teams=id, battles=_BATTLES, seed=1) for id in random_battle_formats(found.version)),
        *(
            Family(format=file.stem, teams=str(file), battles=_BATTLES, seed=1)
            for file in sorted(found.teams.glob("*.txt"))
        ),
    ]
    unequal = []
    for family, equal in compare(found, families):
        say(f"{family.format}: {equal} of {family.battles} battles equal with and without the faster engine")
        if equal < family.battles:
            unequal.append(family.format)
    return unequal


def _play(version: str, say: Callable[[str], None]) -> list[str]:
    """What trackers and masks could not make sense of in random battles, by format."""
    troubles = []
    for id in random_battle_formats(version):
        try:
            unknown = _play_format(PokemonSettings(format=id, showdown=version))
        except InputError:
            raise
        except (IllegalAction, RunError, ValueError, LookupError) as error:
            troubles.append(f"{id}: {error}")
        else:
            troubles += [f"{id}: unknown line or effect {name}, {count} times" for name, count in unknown.items()]
        say(f"{id}: played in the arena")
    return troubles


def _play_format(settings: PokemonSettings) -> Counter[str]:
    """Plays some battles; returns the protocol lines that nobody here knows. Raises whatever goes wrong."""
    arena, player, ended = PokemonArena(settings, matches=1, seed=1), RandomPlayer(1), 0
    try:
        while ended < _BATTLES:
            decisions, results = arena.wait()
            ended += len(results)
            if results.failed.any():
                raise RunError(f"a battle failed: {arena.failures[-1].splitlines()[0]}")
            if len(decisions):
                arena.act(decisions, np.asarray(player.act(decisions).action, np.int32))
        return arena.unknown_lines
    finally:
        arena.close()


def _check_damage(version: str) -> list[str]:
    """Why `observation: full` and the players that estimate damage do not work, if they don't."""
    troubles = []
    for generation in range(1, 10):
        try:
            load_tables(generation, version)
        except InputError:
            raise
        except ValueError as error:
            troubles.append(f"no damage estimate in generation {generation}: {error}")
    return troubles


def _reasons(left: dict[str, str]) -> str:
    """Which methods were left; and why, where it is for another one's sake."""
    named = [name if reason == f"{name} differs" else f"{name} ({reason})" for name, reason in left.items()]
    return f": {', '.join(named)}" if named else ""


def _difference(before: Iterable[str], after: Iterable[str]) -> str:
    gone, new = sorted(set(before) - set(after)), sorted(set(after) - set(before))
    return f"{len(gone)} missing{_named(gone)}, {len(new)} new{_named(new)}"


def _named(names: list[str]) -> str:
    return f" ({_some(names)})" if names else ""


def _some(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
