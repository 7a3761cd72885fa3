"""HTML pages that need no network: a common frame and look, and each page's own style."""

import html
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Template


def page(title: str, about: str, body: str, *, style: str) -> str:
    """A page called `title`, with a line `about` it under the heading; `pages/STYLE.css` adds to the common look.

    Title and line are text and are escaped here; `body` is HTML.
    """
    return Template(_text("page.html")).substitute(
        title=html.escape(title), about=html.escape(about), body=body, style=_text("page.css") + _text(f"{style}.css")
    )


def facts(values: Mapping[str, str]) -> str:
    """A row of boxes, each a value over its name; for pages with the style `plots`."""
    boxes = (
        f'<div class="fact"><b>{html.escape(value)}</b><span>{html.escape(name)}</span></div>'
        for name, value in values.items()
    )
    return f'<div class="facts">{"".join(boxes)}</div>'


@cache
def _text(name: str) -> str:
    return (files("sparring.report") / "pages" / name).read_text("utf-8")
