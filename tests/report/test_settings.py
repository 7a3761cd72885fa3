"""Settings for people to read: values, what is allowed, and meanings from the sources."""

from io import StringIO
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta
from rich.console import Console

from sparring.core import game_names, load_game
from sparring.report.settings import rules_text, settings_list, settings_of
from sparring.training.config import TrainConfig, game_parts, load_config
from sparring.training.presets import preset_names


class Inner(msgspec.Struct, kw_only=True, tag_field="kind", tag="slow"):
    """Slow and steady."""

    rate: Annotated[float, Meta(gt=0)] = 0.5
    """Steps
    a second."""
    names: list[str] = []


class Base(msgspec.Struct, kw_only=True):
    size: Annotated[int, Meta(ge=3, le=19)] = 7
    """Of the board."""


class Outer(Base, kw_only=True):
    colour: Literal["red", "blue"]
    """Which
    side."""
    swap: bool = False
    limit: int | None = None
    inner: Inner = msgspec.field(default_factory=Inner)


def test_every_setting_has_its_value_its_default_what_is_allowed_and_its_meaning():
    rows = {row.key: row for row in settings_of(Outer, Outer(colour="red", size=9))}
    assert list(rows) == ["size", "colour", "swap", "limit", "inner.kind", "inner.rate", "inner.names"]
    assert [row.value for row in rows.values()] == ["9", "red", "false", "null", "slow", "0.5", "[]"]
    assert [row.default for row in rows.values()] == ["7", None, "false", "null", None, "0.5", "[]"]
    allowed = ["int 3 to 19", "blue, red", "true, false", "int or null", "", "float > 0", "list of text"]
    assert [row.allowed for row in rows.values()] == allowed
    assert rows["size"].meaning == "Of the board."
    assert rows["colour"].meaning == "Which side."
    assert rows["inner.kind"].meaning == "Slow and steady."
    assert rows["inner.rate"].meaning == "Steps a second."
    assert next(row for row in settings_of(Outer) if row.key == "colour").value == ""


def test_every_key_of_a_training_run_has_a_meaning():
    config, game = load_config("hex-quick", [])
    rows = list(settings_of(TrainConfig, config, parts=game_parts(config, game)))
    assert not [row.key for row in rows if not row.meaning]


@pytest.mark.parametrize("name", list(preset_names()))
def test_every_preset_can_be_shown_at_80_columns_with_its_keys_whole(name):
    config, game = load_config(name, [])
    settings = list(settings_of(TrainConfig, config, parts=game_parts(config, game)))
    console = Console(width=80, file=StringIO())
    console.print(settings_list(settings))
    shown = {line.split(" ")[0] for line in console.file.getvalue().splitlines()}
    assert {setting.key for setting in settings} <= shown
    assert {"settings.size" if game.name == "hex" else "game", "learner.kind", "evaluation.matches"} <= shown


def test_a_mapping_has_a_line_an_entry_and_lists_look_like_yaml():
    config, game = load_config("rocket-1v1", [])
    rows = {row.key: row for row in settings_of(TrainConfig, config, parts=game_parts(config, game))}
    assert rows["settings.starts"].value.splitlines()[:2] == ["kickoff: 3.0", "replay: 2.0"]
    assert "hit: {start: 1.0, end: 0.2, over: 4000000}" in rows["settings.rewards.components"].value.splitlines()
    assert rows["evaluation.opponents"].default == "[random]"


def test_the_rules_of_a_match_are_what_its_spec_names_and_what_was_chosen():
    hex_settings = load_game("hex").settings
    assert rules_text({"size": 7, "swap": False}, hex_settings()) == "size 7, swap false"
    assert rules_text({"size": 5, "swap": False}, hex_settings(size=5, opening=2)) == "size 5, swap false, opening 2"
    rocket = load_game("rocket").settings
    assert rules_text({}, rocket(end="clock", modes=("2v2",), room=2, starts={"random": 1.0})) == (
        "modes [2v2], room 2, end clock"
    )


@pytest.mark.parametrize("name", game_names())
def test_every_game_can_show_its_settings_and_network(name):
    game = load_game(name)
    assert all(setting.key for setting in [*settings_of(game.settings), *settings_of(game.network)])
