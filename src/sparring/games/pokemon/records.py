"""Replays: a match as a page of ours that needs no network, as Showdown's own replay page, and as a plain .log file."""

import html
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sparring.core import MatchRecord
from sparring.core.files import safe_name, write_file
from sparring.games.pokemon.replay_page import format_name, players, replay_page
from sparring.games.pokemon.simulator import SEAT_NAMES

if TYPE_CHECKING:
    from sparring.games.pokemon.arena import PokemonArena

_VIEWER = "https://play.pokemonshowdown.com/js/replay-embed.js"
"""Showdown's replay player, which its own downloaded replays load as well."""

_SHOWDOWN_PAGE = """<!DOCTYPE html>
<meta charset="utf-8" />
<title>{title}</title>
<div class="wrapper replay-wrapper" style="max-width:1180px;margin:0 auto">
<input type="hidden" name="replayid" value="{name}" />
<div class="battle"></div><div class="battle-log"></div><div class="replay-controls"></div>
<div class="replay-controls-2"></div>
<h1 style="font-weight:normal;text-align:center"><strong>{title}</strong></h1>
<script type="text/plain" class="battle-log-data">{log}</script>
</div>
<script src="{viewer}"></script>
"""

_UNFIT = re.compile(r"[|\x00-\x1f\x7f\u2028\u2029]+")
"""What would end a name in a log."""
_SEATED = re.compile(
    rf"^(\|player\|p[12]\||\|win\||\|-?message\||\|-side(?:start|end)\|p[12]: )({'|'.join(SEAT_NAMES)})(?=$|[|' ])",
    re.MULTILINE,
)
"""Where a log names its players."""

_HEALTH = {"switch": 4, "drag": 4, "replace": 4, "-damage": 3, "-heal": 3, "-sethp": 3}
"""Lines that say how a Pokémon is, and the field that does."""


def follow(arena: "PokemonArena", ended: Callable[[int, MatchRecord], None]) -> None:
    """Hands over every battle of `arena` that ends, as a page; its margin is what the winner had left."""

    def hear(slot: int, winner: int, log: str) -> None:
        margin = 0.0 if winner < 0 else team_left(log, winner)
        ended(slot, MatchRecord(margin=margin, suffix=".html", render=lambda names: _page(log)))

    arena.keep_logs(hear)


def team_left(log: str, seat: int) -> float:
    """What is left of a seat's team at the end of `log`, in Pokémon: one at half of its HP is 0.5."""
    side, size, health = f"p{seat + 1}", 0, dict[str, float]()
    for line in log.split("\n"):
        parts = line.split("|")
        kind = parts[1] if len(parts) > 3 or parts[1:2] == ["faint"] else ""
        if kind == "teamsize" and parts[2] == side:
            size = int(parts[3]) if parts[3].isdecimal() else size
        elif (kind in _HEALTH or kind == "faint") and parts[2].startswith(side):
            name = parts[2].partition(": ")[2]
            health[name] = _health(parts[_HEALTH[kind]]) if kind in _HEALTH and len(parts) > _HEALTH[kind] else 0.0
    return max(size - len(health), 0) + sum(health.values())


def _health(condition: str) -> float:
    """The share of `75/100 slp`."""
    now, _, most = condition.partition(" ")[0].partition("/")
    return min(int(now) / max(int(most), 1), 1.0) if now.isdecimal() and most.isdecimal() else 0.0


def save_replay(folder: Path, name: str, log: str) -> Path:
    """Writes `<name>.html`, `<name>.showdown.html` and `<name>.log` into `folder` and returns the first's path.

    The first page needs no network; Showdown's is animated and loads its player from Showdown's site. `log` is what
    spectators see, as `Ended.log` has it. `name` may come from a server: it never leads out of `folder`.
    """
    file = safe_name(name)
    names = players(log)
    showdown = _SHOWDOWN_PAGE.format(
        title=html.escape(f"{format_name(log)}: {names['p1']} vs. {names['p2']}"),
        name=html.escape(name, quote=True),
        log=_script_text(log),
        viewer=_VIEWER,
    )
    save_text(folder / f"{file}.log", log + "\n")
    save_text(folder / f"{file}.showdown.html", showdown)
    path = folder / f"{file}.html"
    write_file(path, _page(log))
    return path


def with_names(log: str, names: Sequence[str]) -> str:
    """`log` of a battle between the players of the arena, who have no names, with `names` in their place.

    Players of the same name are numbered: a log says by the name who won.
    """
    clean = [_UNFIT.sub(" ", name).strip() or anonymous for name, anonymous in zip(names, SEAT_NAMES, strict=True)]
    if clean[0] == clean[1]:
        clean = [f"{name} ({number})" for number, name in enumerate(clean, 1)]
    by_seat = dict(zip(SEAT_NAMES, clean, strict=True))
    return _SEATED.sub(lambda found: found.group(1) + by_seat[found.group(2)], log)


def save_text(path: Path, text: str) -> Path:
    """Writes a file so that it is there whole or not at all."""
    write_file(path, text.encode("utf-8", "replace"))
    return path


def _page(log: str) -> bytes:
    return replay_page(log).encode("utf-8", "replace")


def _script_text(log: str) -> str:
    """`log` for the inside of a script element: nothing in it can end the element or hide its end.

    The viewer turns `<\\/` back; after `<!--` a second `<script` would make browsers skip the next `</script>`.
    """
    return log.replace("</", "<\\/").replace("<!--", "<\\!--")
