"""A spec from a file or a socket is checked as data before anything is made of it."""

import pytest

from sparring.core import Field, GameSpec, InputError

SPEC = GameSpec("g", {"size": 3}, 2, 9, {"board": Field((3, 3), "int8"), "clock": Field((), "float32")})


def test_what_was_written_is_read():
    assert GameSpec.from_json(SPEC.to_json()) == SPEC


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"seats": float("inf")}, "seats is no whole number from 1 to 1024"),
        ({"seats": True}, "seats is no whole number"),
        ({"actions": float("nan")}, "actions is no whole number"),
        ({"actions": 2**40}, "actions is no whole number"),
        ({"actions": 0}, "actions is no whole number"),
        ({"game": 7}, "game is not a name"),
        ({"game": ""}, "game is not a name"),
        ({"settings": []}, "settings is no map"),
        ({"settings": {1: 2}}, "settings is no map"),
        ({"observation": []}, "observation is no map"),
        ({"observation": {"": {"shape": [], "dtype": "int8"}}}, "a field of the observation has no name"),
        ({"observation": {"x": 3}}, "x has no shape and dtype"),
        ({"observation": {"x": {"shape": 3, "dtype": "int8"}}}, "the shape of x is no list"),
        ({"observation": {"x": {"shape": [float("inf")], "dtype": "int8"}}}, "the shape of x is no whole number"),
        ({"observation": {"x": {"shape": [-1], "dtype": "int8"}}}, "the shape of x is no whole number"),
        ({"observation": {"x": {"shape": [2**20, 2**20], "dtype": "int8"}}}, "a row of x has more than"),
        ({"observation": {"x": {"shape": [1], "dtype": "i4,i4"}}}, "the dtype of x is none of bool, int8"),
        ({"observation": {"x": {"shape": [1], "dtype": []}}}, "the dtype of x is none of"),
        ({"observation": {"x": {"shape": [1], "dtype": [["a", "i4"]]}}}, "the dtype of x is none of"),
        ({"observation": {"x": {"shape": [1], "dtype": "O"}}}, "the dtype of x is none of"),
    ],
)
def test_what_is_malformed_is_named(change, problem):
    with pytest.raises(InputError, match=f"not a game spec: {problem}"):
        GameSpec.from_json(SPEC.to_json() | change)


@pytest.mark.parametrize("data", [None, [], 3, "spec", {}, {"game": "g"}])
def test_what_is_no_spec_at_all_is_refused(data):
    with pytest.raises(InputError, match="not a game spec"):
        GameSpec.from_json(data)
