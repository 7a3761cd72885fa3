"""HTML pages that need no network: one frame for all of them, and matches as pages of their game.

Nothing in a title or in data can run as HTML: the title is escaped, data is JSON without `<`, `>` and `&`, and the
scripts of pages show text as text only. What a page may load is nothing but the icon that it holds.
"""

import html
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template
from typing import Any

from sparring.core.text import printable

_HERE = files("sparring.core") / "html"
_LONGEST_TITLE = 200
_TURNING = re.compile(r"(?<!\\)((?:\\\\)*)\\u(?:202[a-e]|206[6-9])")
"""In JSON, a character that changes the direction of all text after it, such as a name may hold."""


def page(title: str, body: str, *, style: str, script: str = "") -> str:
    """A page with `body`, which is HTML; `style` adds to the look of all pages."""
    if script:
        body = f"{body}<script>\n'use strict';\n{script}</script>\n"
    return Template(_text(_HERE / "page.html")).substitute(
        allowed="; script-src 'unsafe-inline'" if script else "",
        title=html.escape(printable(title, _LONGEST_TITLE)),
        icon=b64encode(_text(_HERE / "icon.svg").encode()).decode(),
        style=_text(_HERE / "page.css") + style,
        body=body,
    )


def match_page(folder: Traversable, name: str, *, title: str, data: Any, scripts: Sequence[str] = ()) -> str:
    """The page of a match that `NAME.html`, `NAME.css` and `NAME.js` in `folder` are the body, look and script of.

    The script finds the match as `match`, and what is in `match.js` and the other `scripts` of the folder. The body has
    the buttons to move through the match where it says `$buttons`.
    """
    body = Template(_text(folder / f"{name}.html")).substitute(buttons=_text(_HERE / "match.html"))
    return page(
        title,
        f'{body}<script type="application/json" id="match">{_script_json(data)}</script>\n',
        style=_text(_HERE / "match.css") + _text(folder / f"{name}.css"),
        script=_text(_HERE / "match.js") + "".join(_text(folder / f"{one}.js") for one in (*scripts, name)),
    )


def _script_json(value: Any) -> str:
    """JSON for the inside of a script element, which nothing in it can end, hide the end of, or turn around."""
    text = _TURNING.sub(r"\1", json.dumps(value, separators=(",", ":")))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _text(path: Traversable) -> str:
    return path.read_text("utf-8")
