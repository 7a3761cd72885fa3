"""Replays as episodes: which format a log is of, whether it is wanted, and both players' rows as arrays."""

from collections.abc import Mapping, Sequence
from functools import cache
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sparring.core import Episodes, Headers, InputError, Steps
from sparring.core.episodes import pack_mask
from sparring.core.replays import Filters, Reading, Rejected, Replay
from sparring.games.pokemon.arena import format_spec
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.replays.formats import replay_format
from sparring.games.pokemon.replays.parse import ParsedBattle, SideOfBattle, parse_battle
from sparring.games.pokemon.replays.reasons import Reason
from sparring.games.pokemon.replays.rules import custom_rules

if TYPE_CHECKING:
    from sparring.games.pokemon.belief.seat import Believing
    from sparring.games.pokemon.replays.own_team import Completion, OwnTeam


def read_replays(replays: Sequence[Replay], filters: Filters, options: Mapping[str, str]) -> Reading:
    """See `sparring.core.replays.Replayed`.

    `options` may hold `format`, which overrules what logs say, `own_team` (see `own_team.OwnTeam`), `corpus`, the
    paths of battles to count usage from, a line each, and `belief`, if rows shall have that group.
    """
    reading = Reading()
    parsed: dict[Format, list[tuple[Replay, ParsedBattle]]] = {}
    for replay in replays:
        try:
            format = replay_format(replay, options.get("format", ""))
            if filters.formats and format.id not in filters.formats:
                raise Rejected(Reason.FILTERED_FORMAT, format.id)
            battle = parse_battle(replay.log, format, completion_of(format, options), _believing_of(format, options))
            _check_wanted(replay, battle, format, filters)
        except Rejected as rejected:
            reading.rejected[replay.serial] = rejected
            continue
        except InputError:  # what is not installed fails for all of them
            raise
        except Exception as error:  # one battle must not end the reading of a million
            fault = Rejected(Reason.READER_FAILED, f"{replay.id}: {type(error).__name__}: {error}"[:300])
            reading.rejected[replay.serial] = fault
            continue
        reading.odd.update(battle.odd)
        parsed.setdefault(format, []).append((replay, battle))
    belief = "belief" in options
    reading.episodes = {format.id: _episodes(battles, format, belief=belief) for format, battles in parsed.items()}
    return reading


@cache
def _completion(format: Format, how: "OwnTeam", corpus: tuple[str, ...]) -> "Completion":
    from sparring.games.pokemon.replays.own_team import Completion

    return Completion(format, how, corpus)


@cache
def _believing(format: Format) -> "Believing":
    from sparring.games.pokemon.belief.seat import Believing

    return Believing(format)


def _believing_of(format: Format, options: Mapping[str, str]) -> "Believing | None":
    return _believing(format) if "belief" in options else None


def reading_options(
    format: str, own_team: "OwnTeam", corpus: Sequence[Path], *, belief: bool = False
) -> dict[str, str]:
    """Options of `read_replays`; `format` is "" to take what logs say."""
    options = {"format": format} if format else {}
    if belief:
        options["belief"] = "yes"
    if own_team != "seen":
        options |= {"own_team": own_team, "corpus": "\n".join(str(path.absolute()) for path in corpus)}
    return options


def completion_of(format: Format, options: Mapping[str, str]) -> "Completion | None":
    """What completes the own teams of a format's battles; None if they stay as they are seen."""
    how = options.get("own_team", "seen")
    if how == "seen":
        return None
    return _completion(format, "infer" if how == "infer" else "usage", tuple(options.get("corpus", "").splitlines()))


def _check_wanted(replay: Replay, battle: ParsedBattle, format: Format, filters: Filters) -> None:
    rating = _rating(replay, battle)
    if filters.min_rating and not rating >= filters.min_rating:
        raise Rejected(Reason.FILTERED_RATING, f"{replay.id}: {'none' if isnan(rating) else round(rating)}")
    if filters.since and replay.played_at < filters.since:
        raise Rejected(Reason.FILTERED_DATE, f"{replay.id}: {replay.played_at or 'none'}")
    if battle.timeline.turns < filters.min_turns:
        raise Rejected(Reason.FILTERED_TURNS, f"{replay.id}: {battle.timeline.turns} turns")
    if battle.timeline.forfeited and not filters.forfeits:
        raise Rejected(Reason.FILTERED_FORFEIT, replay.id)
    if not filters.custom_rules and (rules := custom_rules(replay.log, format)):
        raise Rejected(Reason.FILTERED_RULES, f"{replay.id}: {rules}")


def _rating(replay: Replay, battle: ParsedBattle) -> float:
    """The lower of the players' ratings, or that of the whole match."""
    known = [rating for rating in battle.timeline.ratings if not isnan(rating)]
    return min(known) if known else replay.rating


def _episodes(battles: Sequence[tuple[Replay, ParsedBattle]], format: Format, *, belief: bool) -> Episodes:
    """The episodes of both players of each battle, in order."""
    spec = format_spec(format, observation="raw", belief=belief, showdown=format.showdown)
    sides = [side for _, battle in battles for side in battle.sides]
    lengths = np.array([len(side.turn) for side in sides], np.int32)
    legal = np.concatenate([side.legal for side in sides])
    consistent = np.concatenate([side.consistent for side in sides])
    names = [name for _, battle in battles for name in battle.timeline.names]
    players = tuple(dict.fromkeys(names))
    number = {name: index for index, name in enumerate(players)}
    winners = np.array([battle.timeline.winner for _, battle in battles])
    outcome = np.where(winners[:, None] < 0, 0.0, np.where(winners[:, None] == np.arange(2), 1.0, -1.0))
    outcome = outcome.reshape(-1).astype(np.float32)
    reward = np.zeros(int(lengths.sum()), np.float32)
    reward[np.cumsum(lengths) - 1] = outcome
    ratings = [
        replay.rating if isnan(rating) else rating for replay, battle in battles for rating in battle.timeline.ratings
    ]
    unknown = np.zeros(len(reward), np.float32)
    exact = consistent.sum(axis=1) == 1
    return Episodes(
        spec=spec,
        players=players,
        headers=Headers(
            lengths=lengths,
            serial=np.repeat(np.array([replay.serial for replay, _ in battles], np.int64), 2),
            seat=np.tile(np.arange(2, dtype=np.int32), len(battles)),
            player=np.array([number[name] for name in names], np.int32),
            version=np.full(len(sides), -1, np.int32),
            outcome=outcome,
            complete=np.ones(len(sides), np.bool_),
            last_value=np.zeros(len(sides), np.float32),
            rating=np.array(ratings, np.float32),
            played_at=np.repeat(np.array([replay.played_at for replay, _ in battles], np.int64), 2),
        ),
        steps=Steps(
            observation={
                name: np.concatenate([side.observation[name] for side in sides]) for name in sides[0].observation
            },
            legal=pack_mask(legal),
            action=np.where(exact, consistent.argmax(axis=1), -1).astype(np.int32),
            turn=np.concatenate([side.turn for side in sides]),
            reward=reward,
            log_prob=unknown,
            value=unknown,
            consistent=pack_mask(consistent),
            filled=_joined_marks(sides),
        ),
    )


def _joined_marks(sides: Sequence[SideOfBattle]) -> NDArray[np.uint64] | None:
    marks = [side.filled for side in sides if side.filled is not None]
    return np.concatenate(marks) if marks else None
