"""`help` of a public class lists its fields, with what they mean."""

import inspect
import pydoc
from dataclasses import is_dataclass

import pytest

import sparring
from sparring.core import Field, Headers, Steps, game_names, load_game
from sparring.core.documented import documented, meanings

CLASSES = [kind for name in sparring.__all__ if is_dataclass(kind := getattr(sparring, name))]


@pytest.mark.parametrize("kind", [*CLASSES, Field, Headers, Steps], ids=lambda kind: kind.__name__)
def test_help_says_what_every_field_means(kind):
    text = pydoc.plain(pydoc.render_doc(kind))
    for name in kind.__dataclass_fields__:
        assert f"    {name} (" in text, name
        assert meanings(kind)[name], f"{name} has no docstring"


@pytest.mark.parametrize("game", game_names())
def test_help_of_a_games_settings_lists_them(game):
    settings = load_game(game).settings
    described = inspect.getdoc(settings)
    assert all(f"    {name} (" in described for name in settings.__struct_fields__)
    assert "Annotated" not in described


def test_fields_of_bases_come_first_and_what_is_no_source_has_none():
    @documented
    class Base:
        """A base."""

        first: "int"
        """One."""
        _hidden: int

    @documented
    class Child(Base):
        """A child.

        With more to say.
        """

        second: str

    assert inspect.getdoc(Child) == (
        "A child.\n\nWith more to say.\n\nAttributes:\n    first (int): One.\n    second (str)"
    )
    assert documented(type("Made", (), {"__doc__": "Made."})).__doc__ == "Made."
