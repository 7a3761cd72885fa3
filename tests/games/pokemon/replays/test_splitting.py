"""Large JSON cut into entries, against the whole of it read at once."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparring.games.pokemon.replays import splitting
from sparring.games.pokemon.replays.splitting import split_json

TEXT = st.text(alphabet=st.sampled_from('\\"{}[],:\n aé\U0001f600\0'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(
    data=st.lists(VALUES, max_size=6) | st.dictionaries(TEXT, VALUES, max_size=6),
    chunk=st.integers(1, 40),
    indent=st.sampled_from([None, 1]),
    ascii=st.booleans(),
)
def test_entries_are_those_of_the_whole_and_reading_goes_on_behind_any(data, chunk, indent, ascii):
    content = json.dumps(data, indent=indent, ensure_ascii=ascii).encode()
    bracket = content[:1]
    before, splitting._CHUNK = splitting._CHUNK, chunk
    try:

        def entries(start):
            stream = io.BytesIO(content)
            stream.seek(start)
            return list(split_json(stream, start, most=1 << 20))

        found = entries(1)
        for number, (_, position) in enumerate(found, 1):
            assert entries(position) == found[number:]
    finally:
        splitting._CHUNK = before
    if bracket == b"[":
        assert [json.loads(entry) for entry, _ in found] == data
    else:
        assert [next(iter(json.loads(b"{%b}" % entry).items())) for entry, _ in found] == list(data.items())


@pytest.mark.parametrize("content", [b"{", b'{"a": [1', b'{"a": "', b'{"a": "\\', b'{"a": 1,'])
def test_json_that_ends_too_early(content):
    with pytest.raises(ValueError, match="ends too early"):
        list(split_json(io.BytesIO(content[1:]), 1, most=100))


def test_a_long_entry_is_passed_over():
    content = b'[1, "' + b"x" * 1000 + b'", 2]'
    assert [entry for entry, _ in split_json(io.BytesIO(content[1:]), 1, most=100)] == [b"1", None, b" 2"]
