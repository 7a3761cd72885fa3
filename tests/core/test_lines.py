"""Lines from another program: whether one is waiting, and what it says."""

import os
from threading import Timer

import pytest

from sparring.core.lines import Lines


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    ends = {"open": writing}

    def close():
        if "open" in ends:
            os.close(ends.pop("open"))

    yield Lines(reading), lambda data: os.write(writing, data), close
    close()
    os.close(reading)


def test_lines_come_in_order_whatever_pieces_they_were_sent_in(pipe):
    lines, send, close = pipe
    send(b"na")
    send(b"me\n\nplay b a1\r\nqu")
    send("ït\nlast \xff".encode("latin-1"))
    close()
    assert [line.strip() for line in lines] == ["name", "", "play b a1", "qu\ufffdt", "last \ufffd"]


def test_waiting_means_a_whole_line_or_the_end(pipe):
    lines, send, close = pipe
    assert not lines.waiting()
    send(b"half")
    assert not lines.waiting()
    send(b" a line\n")
    assert lines.waiting()
    assert next(iter(lines)) == "half a line"
    assert not lines.waiting()
    close()
    assert lines.waiting()
    assert list(lines) == []


def test_it_can_wait_for_the_next_one(pipe):
    lines, send, _ = pipe
    Timer(0.2, send, [b"late\n"]).start()
    assert lines.waiting(block=True)
    assert next(iter(lines)) == "late"
