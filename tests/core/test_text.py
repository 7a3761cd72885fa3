"""What a terminal may be shown of words from outside."""

from sparring.core.text import printable, wrapped


def test_words_stay_and_control_characters_go() -> None:
    assert printable("Pokémon: 50% “done”") == "Pokémon: 50% “done”"
    assert printable("a\x1b[2J\x07b\x9b31m\u202ec\x00") == "a[2Jb31mc"
    assert printable("two\nlines\tof\r\nwords ") == "two lines of words"


def test_what_is_too_long_is_cut() -> None:
    assert printable("x" * 50, 10) == "x" * 9 + "…"
    assert len(printable("y" * 10**7)) == 10_000


def test_lines_are_broken_between_words_and_addresses_stay_whole():
    text = "open http://localhost:8000/a-long-address in a browser\n  then wait"
    assert wrapped(text, 20).splitlines() == [
        "open", "http://localhost:8000/a-long-address", "in a browser", "  then wait",
    ]  # fmt: skip
    assert wrapped("a\n\nb", 20) == "a\n\nb"
