"""A match as one HTML page that needs no network: a template of its game, filled with a title and the match as data.

Nothing in the data can run as HTML: it is JSON without `<`, `>` and `&`, and the scripts of templates show text as text
only.
"""

import html
import json
from importlib.resources.abc import Traversable
from string import Template
from typing import Any

from sparring.core.text import printable

_LONGEST_TITLE = 200


def match_page(template: Traversable, *, title: str, data: Any, **parts: str) -> str:
    """The text of `template`, with `$title`, `$data` and the `parts` filled in; it writes any other `$` as `$$`."""
    return Template(template.read_text("utf-8")).substitute(
        title=html.escape(printable(title, _LONGEST_TITLE)), data=_script_json(data), **parts
    )


def _script_json(value: Any) -> str:
    """JSON for the inside of a script element, which nothing in it can end or hide the end of."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
