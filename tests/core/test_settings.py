"""Settings from users: typed, or one line with key, value and what is allowed."""

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from sparring.core import InputError
from sparring.core.settings import GameSettings, apply_overrides, convert, override_keys, read_settings


class Inner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rate: Annotated[float, Meta(gt=0)] = 1.0


class Slow(msgspec.Struct, frozen=True, tag="slow", tag_field="kind"):
    pass


class Fast(msgspec.Struct, frozen=True, tag="fast", tag_field="kind"):
    pass


class Outer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    inner: Inner = Inner()
    modes: list[Literal["1v1", "2v2"]] = []
    shares: dict[Literal["near", "far"], float] = {}
    learner: Slow | Fast = Slow()
    size: Annotated[int, Meta(ge=3, le=19)] = 5


def test_overrides_reach_nested_keys_and_read_numbers_as_people_write_them():
    data = apply_overrides({"inner": {"rate": 2}, "size": 3}, ["inner.rate=1e-3", "size=7"])
    assert convert(data, Outer, where="test") == Outer(inner=Inner(rate=0.001), size=7)


def test_overrides_leave_the_preset_untouched():
    preset = {"inner": {"rate": 2}}
    apply_overrides(preset, ["inner.rate=3"])
    assert preset == {"inner": {"rate": 2}}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("inner.rate=-1", r"inner.rate = -1: allowed: a number, more than 0$"),
        ("inner.speed=1", r"inner.speed: unknown key; allowed: rate"),
        ("inner.rat=1", r"inner.rat: unknown key \(did you mean 'rate'\?\); allowed: rate"),
        ("colour=red", r"colour: unknown key; allowed: inner, modes, shares, learner, size"),
        ("modes=[1v1, 4v4]", r"modes\[1\] = '4v4': allowed: 1v1, 2v2$"),
        ("shares.high=1", r"shares.high: unknown key; allowed: near, far"),
        ("learner.kind=late", r"learner.kind = 'late': allowed: slow, fast$"),
        ("size=20", r"size = 20: allowed: a whole number, 3 to 19$"),
        ("size={a: 1}", r"size = \{'a': 1\}: allowed: a whole number, 3 to 19$"),
        ("modes=1v1", r"modes = '1v1': allowed: a list such as \[...\], each 1v1, 2v2$"),
        ("shares=near", r"shares = 'near': allowed: keys and values, such as \{near: 0.2\}$"),
        ("learner=fast", r"learner = 'fast': allowed: keys and values with kind: slow, fast; write learner.kind=fast$"),
        ("learner=3", r"learner = 3: allowed: keys and values with kind: slow, fast$"),
        ("inner=3", r"inner = 3: allowed: keys and values \(rate\)$"),
        ("size=big", r"size = 'big': allowed: a whole number, 3 to 19$"),
        ("size", "override 'size': not of the form key=value, without spaces around =$"),
        ("size=", "override 'size=': not of the form key=value, without spaces around =$"),
        ("size.of=3", "size has no keys"),
    ],
)
def test_a_bad_value_is_named(override, message):
    with pytest.raises(InputError, match=message):
        convert(apply_overrides({"inner": {}, "size": 5}, [override]), Outer, where="test")


def test_a_part_of_something_larger_is_named_with_the_keys_above_it():
    with pytest.raises(InputError, match=r"^preset: settings.size = 2: allowed"):
        convert({"size": 2}, Outer, where="preset", under="settings")
    with pytest.raises(InputError, match=r"^preset: settings.sise: unknown key \(did you mean 'size'\?\); allowed"):
        convert({"sise": 2}, Outer, where="preset", under="settings")


class Named(msgspec.Struct, frozen=True):
    game: str
    outer: Outer = Outer()


class Rules(GameSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    size: Annotated[int, Meta(ge=3, le=19)] = 7
    rate: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    inner: Inner = Inner(rate=1)


def test_rules_that_a_program_makes_are_checked_too():
    assert Rules(size=3, rate=0.25).size == 3
    with pytest.raises(InputError, match=r"settings: size = 99: allowed: a whole number, 3 to 19"):
        Rules(size=99)
    with pytest.raises(InputError, match=r"settings: size = '7': allowed: a whole number, 3 to 19"):
        Rules(size="7")
    with pytest.raises(InputError, match=r"settings: rate = 0.0: allowed: a number, more than 0 and less than 1"):
        Rules(rate=0.0)


def test_parts_of_rules_are_checked_and_mappings_become_structs():
    assert Rules(inner={"rate": 0.5}) == Rules(inner=Inner(rate=0.5))
    for wrong in ({"rate": -1}, Inner(rate=-1)):
        with pytest.raises(InputError, match=r"settings: inner.rate = -1.*: allowed: a number, more than 0"):
            Rules(inner=wrong)
    with pytest.raises(InputError, match=r"inner.rat: unknown key \(did you mean 'rate'\?\)"):
        Rules(inner={"rat": 1})


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        (Meta(ge=3, le=19), "3 to 19"),
        (Meta(ge=1), "1 or more"),
        (Meta(gt=0), "more than 0"),
        (Meta(le=5), "at most 5"),
        (Meta(ge=0, lt=2**32), "at least 0 and less than 4,294,967,296"),
    ],
)
def test_the_numbers_that_are_allowed_are_said(meta, words):
    class Limited(GameSettings, frozen=True):
        x: Annotated[float, meta] = 4

    with pytest.raises(InputError, match=f"allowed: a number, {words}$"):
        Limited(x="much")


def test_an_override_may_be_a_mapping_of_such_keys():
    data = apply_overrides({"inner": {"rate": 2}, "size": 3}, [{"inner.rate": 0.5, "modes": ["1v1"]}, "size=4"])
    assert convert(data, Outer, where="test") == Outer(inner=Inner(rate=0.5), modes=["1v1"], size=4)
    assert override_keys([{"inner.rate": 0.5, "modes": []}, "size=4"]) == {"inner.rate", "modes", "size"}


@pytest.mark.parametrize("override", [3, None, ["size=3"], {3: "size"}, {"": 1}])
def test_an_override_that_is_neither_text_nor_such_a_mapping_is_named(override):
    with pytest.raises(InputError, match="allowed: text such as 'decisions=8192', or a mapping"):
        apply_overrides({}, [override])


def test_a_missing_key_is_named():
    with pytest.raises(InputError, match="preset: game: missing"):
        convert({"outer": {}}, Named, where="preset")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"game: hex\nsettings: {size: 5\nseed: 1\n", ", line 3, column 5: not valid YAML: "),
        (
            b"game: hex\nlearner: {kind: ppo}\nlearner: {kind: rnad}\n",
            ", line 3, column 1: not valid YAML: learner stands",
        ),
        (
            b"game: hex\nsettings:\n  size: 5\n  size: 7\n",
            ", line 4, column 3: not valid YAML: size stands there twice",
        ),
        (b"? [game, settings]\n: hex\n", ", line 1, column 3: not valid YAML: "),
        (b"game: hex\n\tseed: 1\n", ", line 2, column 1: not valid YAML: "),
        (bytes(range(256)), "not a YAML text file"),
        ("game: h\u00e9x\n".encode("latin-1"), "not a YAML text file"),
        (b"seed: 2024-13-45\n", "not a YAML text file"),
        (b"- 1\n", "not a mapping"),
        (b"1: 2\n", "not a mapping"),
        (b"", "not a mapping"),
    ],
)
def test_a_file_that_is_no_settings_is_refused_with_its_place(tmp_path, content, words):
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_settings(path)
    assert str(refused.value).startswith(str(path))
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
