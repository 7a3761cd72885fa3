"""What a type admits is said in words that people who never saw the type understand."""

from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from sparring.core.admitted import admitted
from sparring.core.settings import Count, Fraction


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (bool, "true or false"),
        (str, "text"),
        (Any, ""),
        (Count, "a whole number, 1 or more"),
        (Fraction | None, "a number, 0 to 1; or null"),
        (str | None, "text or null"),
        (Literal["auto", "cpu"], "auto, cpu"),
        (Literal["auto"] | int, "auto or a whole number"),
        (tuple[str, ...], "a list such as [a, b]"),
        (dict[str, float], "keys and values, such as {a: 0.2}"),
        (tuple[str, ...] | dict[str, int], "a list such as [a, b]; or keys and values, such as {a: 1}"),
        (dict[str, Any], "keys and values, such as {a: ...}"),
        (list[Count], "a list such as [1, 2], each a whole number, 1 or more"),
        (Annotated[tuple[str, ...], Meta(min_length=1)], "a list such as [a, b] with 1 or more entries"),
        (Annotated[str, Meta(pattern="^[ab]$")], "text that matches ^[ab]$"),
    ],
)  # fmt: skip
def test_it_is_said_in_words(kind, words):
    assert admitted(kind) == words


def test_samples_have_the_name_that_was_given_in_them():
    assert admitted(dict[str, Fraction], name="path") == "keys and values, such as {path: 0.2}"
    assert admitted(tuple[str, ...], name="runs/a") == "a list such as [runs/a]"
    assert admitted(tuple[str, ...], name="a: b") == "a list such as [a, b]"
