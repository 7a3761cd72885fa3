"""The page of a match in a browser: what happened in words, steps and keys, and nothing in a name runs as HTML."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparring.games.rocket import field
from sparring.games.rocket.watch import Recording, html_page

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"><!--<script>"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed (package chromium)")

FRAMES, A_SECOND = 60, 10


def recording(names: tuple[str, str] = ("ann", "ben")) -> Recording:
    """Six seconds: ann hits the ball at 1 s, ben is demolished at 2 s, ann scores at 3 s and kicks off again."""
    frames = np.arange(FRAMES)
    ball = np.zeros((FRAMES, 3), np.float32)
    ball[10:30, 1] = 200 * np.arange(20)  # 200 cm in a tenth of a second
    cars = np.zeros((FRAMES, 2, 3), np.float32)
    cars[:, 0, 1], cars[:, 1, 1] = -2000, 2000
    flags = np.zeros((FRAMES, 2), bool)
    touched, demolished = flags.copy(), flags.copy()
    touched[10:14, 0] = demolished[20:25, 1] = True
    return Recording(
        names=names,
        seconds_a_frame=1 / A_SECOND,
        ball=ball,
        cars=cars,
        noses=np.tile(np.float32([0, 1, 0]), (FRAMES, 2, 1)),
        boost=np.full((FRAMES, 2), 40, np.float32),
        taken=np.zeros((FRAMES, len(field.PAD_POSITIONS)), bool),
        touched=touched,
        demolished=demolished,
        orange=np.array([False, True]),
        goals=np.stack([frames >= 30, frames < 0], axis=1).astype(np.int32),
        reward=np.zeros(2, np.float32),
        outcome=1.0,
        ending="goal",
    )


def drawn(page: str, folder: Path, *, at: str = "", keys: list[str] | None = None) -> str:
    """The page's HTML as a browser has drawn it, gone to `at`, once `keys` were pressed."""
    press = (
        f"for (const key of {json.dumps(keys or [])}) document.dispatchEvent(new KeyboardEvent('keydown', {{ key }}));"
    )
    path = folder / "match.html"
    path.write_text(page.replace("</body>", f"<script>{press}</script></body>"))
    assert CHROMIUM is not None
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    flags += " --disable-component-update --disable-sync --virtual-time-budget=100 --dump-dom"
    command = [CHROMIUM, *flags.split(), f"--user-data-dir={folder / 'profile'}", f"file://{path}#{at}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def part(page: str, name: str) -> str:
    """The text of the element with the id `name`, which holds no element of its own kind."""
    found: Any = re.search(rf'<(\w+)[^>]* id="{name}"[^>]*>(.*?)</\1>', page, re.DOTALL)
    return re.sub("<[^>]+>", " ", found[2]).strip()


@in_browser
def test_what_happens_is_told_with_its_time(tmp_path: Path) -> None:
    page = drawn(html_page(recording()), tmp_path, at="t=0")
    buttons = re.findall(r'<button class="([^"]*)" tabindex="-1">(.*?)</button>', page)
    told = [(look, " ".join(re.sub("<[^>]+>", " ", words).split())) for look, words in buttons]
    assert told == [
        ("start past at", "0:00 Kickoff"),
        ("touch blue", "0:01 ann hits the ball 72 km/h"),
        ("demolished orange", "0:02 ben is demolished"),
        ("goal blue", "0:03 Goal for ann, 1 : 0"),
        ("start", "0:03 Kickoff"),
        ("end blue", "0:05 ann wins 1 : 0 ended by goal"),
    ]
    assert re.findall(r'<i class="(\w+) blue" title="([^"]+)" style="left: ([\d.]+)%;">', page) == [
        ("touch", "ann hits the ball", "16.9492"),
        ("goal", "Goal for ann, 1 : 0", "50.8475"),
    ]


@in_browser
@pytest.mark.parametrize(
    ("at", "keys", "step", "clock", "score", "now"),
    [
        ("t=0", [], 1, "0:00", "0", "Kickoff"),
        ("t=1", [], 11, "0:01", "0", "ann hits the ball, 72 km/h"),
        ("t=1", ["."], 12, "0:01", "0", "ann hits the ball, 72 km/h"),
        ("t=1", [","], 10, "0:00", "0", "Kickoff"),
        ("t=0", ["ArrowRight"], 51, "0:05", "1", "Kickoff"),
        ("t=5", ["ArrowLeft"], 1, "0:00", "0", "Kickoff"),
        ("t=0", ["ArrowDown", "ArrowDown"], 21, "0:02", "0", "ben is demolished"),
        ("t=2", ["ArrowDown"], 31, "0:03", "1", "Goal for ann, 1 : 0"),
        ("t=2", ["ArrowUp"], 11, "0:01", "0", "ann hits the ball, 72 km/h"),
        ("t=0", ["End"], 60, "0:05", "1", "ann wins 1 : 0, ended by goal"),
        ("t=4", ["Home"], 1, "0:00", "0", "Kickoff"),
    ],
)
def test_keys_move_through_the_match(
    at: str, keys: list[str], step: int, clock: str, score: str, now: str, tmp_path: Path
) -> None:
    page = drawn(html_page(recording()), tmp_path, at=at, keys=keys)
    assert part(page, "frame") == f"step {step} of 60"
    assert (part(page, "clock"), part(page, "goals-blue"), part(page, "now")) == (clock, score, now)
    assert part(page, "play") == "Play"


@in_browser
@pytest.mark.parametrize(
    ("keys", "said"), [([], "Pause"), ([" "], "Play"), ([" ", " "], "Pause"), ([" ", "."], "Play")]
)
def test_it_plays_from_the_start_and_stops(keys: list[str], said: str, tmp_path: Path) -> None:
    assert part(drawn(html_page(recording()), tmp_path, keys=keys), "play") == said


@in_browser
def test_a_hostile_name_stays_text_in_a_browser(tmp_path: Path) -> None:
    page = drawn(html_page(recording((HOSTILE, HOSTILE))), tmp_path, at="t=3")
    assert "<title>broken" not in page
    assert "<img" not in page
    assert "&lt;img src=x" in page
