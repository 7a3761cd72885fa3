"""HTML pages that need no network: a heading, and the look of what a page of figures has."""

import html
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from sparring.core import pages


def page(title: str, about: str, body: str, *, style: str) -> str:
    """A page called `title`, with a line `about` it under the heading; `pages/STYLE.css` adds to the common look.

    Title and line are text and are escaped here; `body` is HTML.
    """
    heading = f'<header><h1>{html.escape(title)}</h1><p class="about">{html.escape(about)}</p></header>'
    return pages.page(title, f"{heading}\n{body}\n", style="".join(map(_text, ("page", "curves", style))))


def facts(values: Mapping[str, str], notes: Mapping[str, str] | None = None, *, look: str = "fact") -> str:
    """Boxes, each a value over its name and over the name's note, if it has one; for pages with the style `plots`."""
    return "".join(
        f'<div class="{look}"><b>{html.escape(value)}</b><span>{html.escape(name)}</span>'
        + (f"<span>{html.escape(notes[name])}</span>" if notes and name in notes else "")
        + "</div>"
        for name, value in values.items()
    )


def boxed(title: str, about: str, body: str) -> str:
    """A box with a heading; title and `about` are text, `body` is HTML."""
    small = f" <small>{html.escape(about)}</small>" if about else ""
    return f'<div class="box"><h3>{html.escape(title)}{small}</h3>{body}</div>'


@cache
def _text(name: str) -> str:
    return (files("sparring.report") / "pages" / f"{name}.css").read_text("utf-8")
