"""Replays: a match as Showdown's own replay page (HTML that opens in a browser) and as a plain .log file."""

import html
import re
from pathlib import Path

from sparring.core.files import safe_name, write_file

_VIEWER = "https://play.pokemonshowdown.com/js/replay-embed.js"
"""Showdown's replay player, which its own downloaded replays load as well."""

_PAGE = """<!DOCTYPE html>
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


def save_replay(folder: Path, name: str, log: str) -> Path:
    """Writes `<name>.html` and `<name>.log` into `folder` and returns the HTML file's path.

    `log` is what spectators see, as `Ended.log` has it. `name` may come from a server: it never leads out of `folder`.
    """
    file = safe_name(name)
    page = _PAGE.format(
        title=html.escape(_title(log)),
        name=html.escape(name, quote=True),
        log=_script_text(log),
        viewer=_VIEWER,
    )
    save_text(folder / f"{file}.log", log + "\n")
    return save_text(folder / f"{file}.html", page)


def save_text(path: Path, text: str) -> Path:
    """Writes a file so that it is there whole or not at all."""
    write_file(path, text.encode("utf-8", "replace"))
    return path


def _script_text(log: str) -> str:
    """`log` for the inside of a script element: nothing in it can end the element or hide its end.

    The viewer turns `<\\/` back; after `<!--` a second `<script` would make browsers skip the next `</script>`.
    """
    return log.replace("</", "<\\/").replace("<!--", "<\\!--")


def _title(log: str) -> str:
    tier = re.search(r"^\|tier\|(.+)$", log, re.MULTILINE)
    players = dict(re.findall(r"^\|player\|(p[12])\|([^|\n]+)", log, re.MULTILINE))
    return f"{tier.group(1) if tier else 'Pokémon'}: {players.get('p1', 'p1')} vs. {players.get('p2', 'p2')}"
