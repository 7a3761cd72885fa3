"""What a log tells of both teams, in words and numbers that people and programs can read."""

from collections.abc import Iterable, Mapping
from typing import Any

from sparring.core.replays import Rejected, Replay
from sparring.games.pokemon.belief.beliefs import Beliefs
from sparring.games.pokemon.belief.notes import Known
from sparring.games.pokemon.belief.posterior import Posterior
from sparring.games.pokemon.belief.sets import SetPool
from sparring.games.pokemon.belief.sources import format_pool, with_usage
from sparring.games.pokemon.belief.weighing import Weighing
from sparring.games.pokemon.columns import POKEMON, TEAM
from sparring.games.pokemon.dex import STATS, Dex
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.replays.formats import replay_format

_LEAST_SHOWN = 0.005
_KINDS = ("items", "abilities", "moves")
_PLACES = 4
"""Digits of a probability."""


def believed_teams(
    replay: Replay, *, format: str = "", corpus: Iterable[Replay | Rejected] = (), turn: int | None = None
) -> dict[str, Any]:
    """Both teams of a battle as they probably are, JSON-ready; as of the start of `turn`, if it is given.

    `corpus` holds battles of the format: how often sets are used is counted from what they showed. Raises `Rejected` if
    nobody can tell the format.
    """
    kind = replay_format(replay, format)
    pool = format_pool(kind)
    shown = [known for battle in corpus if isinstance(battle, Replay) for known in shown_sets(battle, kind, pool)]
    if shown:
        pool = with_usage(pool, shown)
    beliefs = Beliefs(kind, pool, weighing=Weighing(kind))
    lines = _until(replay.log, turn)
    beliefs.read(lines)
    names = [
        next((line[3] for line in lines if line[1:3] == ["player", side] and line[3:]), "") for side in ("p1", "p2")
    ]
    teams: list[dict[str, Any]] = [
        {
            "player": name,
            "pokemon": [
                _described(belief, pool.dex)
                for row in range(side * TEAM, side * TEAM + TEAM)
                if (belief := beliefs.of(row)) is not None
            ],
        }
        for side, name in enumerate(names)
    ]
    return {
        "id": replay.id,
        "format": kind.id,
        "turn": beliefs.watcher.tracker.turn,
        "teams": teams,
        "names": _spelled((one for team in teams for one in team["pokemon"]), pool.dex),
    }


def shown_sets(replay: Replay, format: Format, pool: SetPool) -> list[Known]:
    """What a whole battle shows of each Pokémon; nothing of a battle of another format."""
    try:
        if replay_format(replay, "").id != format.id:
            return []
    except Rejected:
        return []
    beliefs = Beliefs(format, pool)
    beliefs.read(_until(replay.log, None))
    return [known for row in range(POKEMON) if (known := beliefs.watcher.known(row)).seen]


def _until(log: str, turn: int | None) -> list[list[str]]:
    lines = []
    for line in log.split("\n"):
        lines.append(line.split("|"))
        if turn is not None and line == f"|turn|{turn}":
            break
    return lines


def _described(belief: Posterior, dex: Dex) -> dict[str, Any]:
    known, best = belief.known, belief.most_likely()
    stats = None if best is None else dict(zip(STATS, belief.candidates.sets[best].stats, strict=True))
    return {
        "species": dex.species.ids[known.species],
        "level": known.level,
        "known": {
            "item": None if known.item < 0 else dex.items.ids[known.item],
            "ability": dex.abilities.ids[known.ability] or None,
            "moves": [dex.moves.ids[move] for move in known.moves],
            "tera": dex.types.ids[known.tera] or None,
        },
        "items": _named(belief.items(), dex.items.ids),
        "abilities": _named(belief.abilities(), dex.abilities.ids),
        "moves": _named(belief.moves(), dex.moves.ids),
        "teras": _named(belief.teras(), dex.types.ids) if dex.generation >= 9 else {},
        "stats": stats,
        "other": round(belief.other, _PLACES),
    }


def _spelled(pokemon: Iterable[Mapping[str, Any]], dex: Dex) -> dict[str, str]:
    """How people write the ids of what is `_described`."""
    names: dict[str, str] = {}
    for one in pokemon:
        for kind, ids in (("species", [one["species"]]), *((kind, one[kind]) for kind in _KINDS)):
            names.update((id, dex.raw[kind][id]["name"]) for id in ids if id)
    return names


def _named(shares: Mapping[int, float], ids: tuple[str, ...]) -> dict[str, float]:
    return {ids[number]: round(share, _PLACES) for number, share in shares.items() if share >= _LEAST_SHOWN}
