"""Which format a replay is of."""

from collections.abc import Sequence

from sparring.core import InputError
from sparring.core.replays import Rejected, Replay
from sparring.games.pokemon.columns import TEAM
from sparring.games.pokemon.formats import Format, find_format, to_id
from sparring.games.pokemon.replays.reasons import Reason
from sparring.games.pokemon.settings import PINNED


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
