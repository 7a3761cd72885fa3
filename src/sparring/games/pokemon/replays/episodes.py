"""Replays as episodes: which format a log is of, whether it is wanted, and both players' rows as arrays."""

from collections.abc import Mapping, Sequence
from math import isnan

import numpy as np

from sparring.core import Episodes, Headers, InputError, Steps
from sparring.core.episodes import pack_mask
from sparring.core.replays import Filters, Reading, Rejected, Replay
from sparring.games.pokemon.arena import format_spec
from sparring.games.pokemon.columns import TEAM
from sparring.games.pokemon.formats import Format, find_format, to_id
from sparring.games.pokemon.replays.parse import ParsedBattle, parse_battle
from sparring.games.pokemon.replays.reasons import Reason
from sparring.games.pokemon.settings import PINNED


def read_replays(replays: Sequence[Replay], filters: Filters, options: Mapping[str, str]) -> Reading:
    """See `sparring.core.replays.Replayed`; `options` may hold `format`, which overrules what logs say."""
    reading = Reading()
    parsed: dict[Format, list[tuple[Replay, ParsedBattle]]] = {}
    for replay in replays:
        try:
            format = replay_format(replay, options.get("format", ""))
            if filters.formats and format.id not in filters.formats:
                raise Rejected(Reason.FILTERED_FORMAT, format.id)
            battle = parse_battle(replay.log, format)
            _check_wanted(replay, battle, filters)
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
    reading.episodes = {format.id: _episodes(battles, format) for format, battles in parsed.items()}
    return reading


def replay_format(replay: Replay, chosen: str) -> Format:
    """The format of a replay: as the user says, as its source says, or as the log's `tier` line does.

    Formats come and go; one that the simulator no longer has is made up from the log itself.
    """
    head = replay.log.split("\n|start", 1)[0]
    tier = next((line[6:] for line in head.split("\n") if line.startswith("|tier|")), "")
    for name in (chosen, replay.format, tier):
        if name:
            try:
                return find_format(name)
            except InputError:
                continue
    return _past_format(replay, head.split("\n"), tier)


def _past_format(replay: Replay, head: Sequence[str], tier: str) -> Format:
    facts = dict(line.split("|")[1:3] for line in head if line.count("|") == 2)
    generation, game_type = facts.get("gen", ""), facts.get("gametype", "")
    name = to_id(replay.format or tier)
    if generation not in map(str, range(1, 10)) or game_type not in ("singles", "doubles") or not name:
        raise Rejected(Reason.FORMAT, f"{replay.id}: the log names no format that is known; --format names one to use")
    bring = facts.get("teampreview", "")
    return Format(
        id=name,
        name=tier or name,
        generation=int(generation),
        mod=f"gen{generation}",
        tables=f"gen{generation}",
        game_type=game_type,
        random_teams=False,
        team_preview=any(line.startswith("|teampreview") for line in head),
        open_team_sheets=any(line.startswith("|showteam|") for line in head),
        picked_team_size=int(bring) if bring in map(str, range(1, TEAM + 1)) else TEAM,
        max_team_size=TEAM,
        adjust_level=0,
        section="",
        showdown=PINNED,
    )


def _check_wanted(replay: Replay, battle: ParsedBattle, filters: Filters) -> None:
    rating = _rating(replay, battle)
    if filters.min_rating and not rating >= filters.min_rating:
        raise Rejected(Reason.FILTERED_RATING, f"{replay.id}: {'none' if isnan(rating) else round(rating)}")
    if filters.since and replay.played_at < filters.since:
        raise Rejected(Reason.FILTERED_DATE, f"{replay.id}: {replay.played_at or 'none'}")
    if battle.timeline.turns < filters.min_turns:
        raise Rejected(Reason.FILTERED_TURNS, f"{replay.id}: {battle.timeline.turns} turns")
    if battle.timeline.forfeited and not filters.forfeits:
        raise Rejected(Reason.FILTERED_FORFEIT, replay.id)


def _rating(replay: Replay, battle: ParsedBattle) -> float:
    """The lower of the players' ratings, or that of the whole match."""
    known = [rating for rating in battle.timeline.ratings if not isnan(rating)]
    return min(known) if known else replay.rating


def _episodes(battles: Sequence[tuple[Replay, ParsedBattle]], format: Format) -> Episodes:
    """The episodes of both players of each battle, in order."""
    spec = format_spec(format, observation="raw", showdown=format.showdown)
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
        ),
    )
