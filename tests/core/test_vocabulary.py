"""Vocabularies: numbers follow their names, and what comes from a file is checked as data."""

from dataclasses import replace

import numpy as np
import pytest

from sparring.core import Field, GameSpec, InputError, Vocabulary
from sparring.core.versions import first_vocabulary, lasting_settings, present_spec, present_vocabulary, stored_spec

COLUMNS = {"ids": ("animals", "", "plants")}
WAS = Vocabulary({"animals": ("bee", "cat", "dog"), "plants": ("ivy", "oak")}, COLUMNS)
NOW = Vocabulary({"animals": ("ant", "bee", "cow", "dog"), "plants": ("ivy", "oak")}, COLUMNS)
SPEC = GameSpec("g", {"size": 3}, 2, 9, {"ids": Field((3,), "int16")}, WAS)


def test_numbers_follow_their_names_and_those_of_lost_names_become_unknown():
    rows = {"ids": np.array([[[1, 7, 2], [2, 8, 1]], [[3, 9, 0], [0, 0, 0]]], np.int16), "board": np.ones(2)}
    found, lost = WAS.renumber(rows, NOW)
    assert found["ids"].tolist() == [[[2, 7, 2], [0, 8, 1]], [[4, 9, 0], [0, 0, 0]]]
    assert found["ids"].dtype == np.int16
    assert found["board"] is rows["board"]
    assert lost == 1
    assert rows["ids"][0, 0, 0] == 1, "the rows given stay as they are"


@pytest.mark.parametrize(
    "rows",
    [
        {},
        {"ids": np.zeros((4, 2), np.int16)},
        {"ids": np.zeros((4, 3), np.float32)},
        {"ids": np.zeros(3, np.int16)},
        {"ids": np.array([[4, 0, 0]], np.int16)},
        {"ids": np.array([[-1, 0, 0]], np.int16)},
    ],
)
def test_rows_that_are_not_of_the_vocabulary_are_refused(rows):
    with pytest.raises(InputError, match="ids: "):
        WAS.renumber(rows, NOW)


def test_the_difference_is_told_with_counts_and_first_names():
    assert WAS.difference(NOW) == "animals: 2 kept, 2 new (ant, cow), 1 gone (cat)"
    many = replace(NOW, names={"animals": WAS.names["animals"], "rocks": tuple("abcde")})
    assert WAS.difference(many) == "plants: 0 kept, 2 gone (ivy, oak); rocks: 0 kept, 5 new (a, b, c, ...)"
    assert WAS.difference(WAS) == ""


def test_a_vocabulary_is_part_of_the_spec_and_of_its_json():
    assert GameSpec.from_json(SPEC.to_json()) == SPEC
    assert GameSpec.from_json(SPEC.to_json()).vocabulary.digest == WAS.digest
    assert WAS.digest != NOW.digest
    assert replace(SPEC, vocabulary=NOW) != SPEC
    assert "vocabulary" not in replace(SPEC, vocabulary=None).to_json()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (None, "not a map"),
        ([], "not a map"),
        ({"names": {}}, "not a map of names and columns"),
        ({"names": [], "columns": {}}, "not a map of at most"),
        ({"names": {str(n): "" for n in range(1000)}, "columns": {}}, "not a map of at most 256 lists"),
        ({"names": {"a": "x y x"}, "columns": {}}, "a has a name twice"),
        ({"names": {"a": ["x", "y"]}, "columns": {}}, "a is no text of names"),
        ({"names": {"a": 7}, "columns": {}}, "a is no text of names"),
        ({"names": {"a": "x  y"}, "columns": {}}, "a has a name that is empty"),
        ({"names": {"a": "x" * 201}, "columns": {}}, "a has a name that is empty, longer than 200 letters"),
        ({"names": {"a": "x\x1b[2Jy"}, "columns": {}}, "a is no text of names"),
        ({"names": {"a\n": "x"}, "columns": {}}, "a list has no name"),
        ({"names": {7: "x"}, "columns": {}}, "a list has no name"),
        ({"names": {"a": "x " * 10_000_000}, "columns": {}}, "a has more than 1048576 names"),
        ({"names": {"a": "x"}, "columns": {"ids": ["b"]}}, "the columns of ids are of no list"),
        ({"names": {"a": "x"}, "columns": {"ids": [3]}}, "the columns of ids are of no list"),
        ({"names": {"a": "x"}, "columns": {"ids": "a"}}, "the columns of ids are of no list"),
    ],
)
def test_a_malformed_vocabulary_is_one_clear_line(data, problem):
    with pytest.raises(InputError, match=f"not a vocabulary: {problem}") as caught:
        GameSpec.from_json(SPEC.to_json() | {"vocabulary": data})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("names", [("a", "b c"), ("a", ""), ("a", "a")])
def test_names_that_could_not_be_read_again_make_no_vocabulary(names):
    with pytest.raises(InputError, match="not a vocabulary: things has a name"):
        Vocabulary({"things": names}, {})


@pytest.mark.parametrize("game", ["hex", "a game of nobody"])
def test_games_without_versions_stay_as_they_were_stored(game):
    spec = replace(SPEC, game=game, vocabulary=None)
    assert stored_spec(spec.to_json()) == present_spec(spec) == spec
    assert lasting_settings(spec) == spec.settings
    assert first_vocabulary(game) is None
    assert present_vocabulary(game) is None
