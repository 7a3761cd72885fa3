"""Rewards by component: a table like all others, and a plot with round marks, a zero line and lines to tell apart."""

import re
from xml.etree import ElementTree

from rich.console import Console

from sparring.report.rewards import ablation_table, rewards_plot, rewards_table

HOSTILE = "</svg><script>alert(1)</script>"


def printed(shown):
    console = Console(width=80, record=True, file=None)
    with console.capture() as captured:
        console.print(shown)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_the_table_begins_with_what_pays_most_at_the_end():
    lines = printed(rewards_table("run: reward a row", {"touch": (0.5, 0.1), "goal": (0.0, -0.3)}))
    assert lines[0] == "run: reward a row"
    assert lines[1].split("  ")[0].startswith("component")
    assert [line.split() for line in lines[3:]] == [
        ["goal", "+0.00000", "-0.30000", "75%"],
        ["touch", "+0.50000", "+0.10000", "25%"],
    ]


def test_an_ablation_is_a_row_for_each_run():
    lines = printed(
        ablation_table({"all": {"speed": 1.0, "vs rule": 0.5}, "without goal": {"speed": 2.0, "vs rule": 0}})
    )
    assert [line.split() for line in lines[2:]] == [["all", "1.00", "0.50"], ["without", "goal", "2.00", "0.00"]]


def test_axes_are_marked_at_round_numbers_and_zero_is_drawn_darker():
    drawn = rewards_plot("run", {"a": [0.0128] * 76, "b": [-0.0085] * 76})
    marks = re.findall(r'text-anchor="(end|middle)" fill="#667085">([-.\d]+)</text>', drawn)
    assert [text for side, text in marks if side == "end"] == ["-0.01", "-0.005", "0", "0.005", "0.01", "0.015"]
    assert [text for side, text in marks if side == "middle"] == ["1", "20", "40", "60"]
    across = re.findall(r'y1="([\d.]+)" y2="\1" stroke="(#\w+)"/>', drawn)
    assert [colour for _, colour in across].count("#667085") == 1


def test_every_component_has_a_line_of_its_own_kind():
    drawn = rewards_plot("many", {f"part{n}": [0.0, n] for n in range(25)})
    kinds = re.findall(r'<polyline [^>]*stroke="(#\w+)" stroke-width="2" (stroke-dasharray="[^"]+")', drawn)
    assert len(set(kinds)) == len(kinds) == 25


def test_names_are_text_and_a_single_update_is_drawn():
    drawn = rewards_plot(HOSTILE, {HOSTILE: [0.0]})
    root = ElementTree.fromstring(drawn)
    assert not [part for part in root.iter() if part.tag.endswith("script")]
