"""See a match: recorded to arrays, shown as an HTML page that needs nothing else or as an animated picture.

The page has a view from above and one from the side, cars by name, pads, boost, score and touches; it can be stopped
and moved through, and fits a window of any size.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Decisions, InputError, MatchRecord, Player, Results, optional
from sparring.core.files import write_file, write_page
from sparring.core.pages import match_page
from sparring.core.text import printable
from sparring.games.rocket import field
from sparring.games.rocket.arena import RocketArena
from sparring.games.rocket.group import FieldView

Floats = Array
COLOURS = ((60, 120, 220), (230, 130, 40))
_GROUND, _WHITE, _LINE, _TOUCH = (24, 30, 26), (240, 240, 240), (70, 90, 75), (250, 220, 80)
_SHADES = 8
_SCALE = 0.05
_HEAD, _SIDE_HEIGHT = 26, 120
_CORNER, _GOAL_DEPTH = 1152.0, 880.0
_LONGEST_NAME = 24
_FORMATS = {".gif": "GIF", ".png": "PNG", ".webp": "WEBP"}


@dataclass(frozen=True)
class Recording:
    """One match, frame by frame."""

    names: tuple[str, str]
    """Who played blue and orange."""
    seconds_a_frame: float
    ball: Floats
    """`float32[frames, 3]`"""
    cars: Floats
    """`float32[frames, n, 3]`"""
    noses: Floats
    """`float32[frames, n, 3]`"""
    boost: Floats
    """`float32[frames, n]`, 0 to 100."""
    taken: NDArray[np.bool_]
    """`bool[frames, 34]` boost pads that are away."""
    touched: NDArray[np.bool_]
    """`bool[frames, n]`"""
    demolished: NDArray[np.bool_]
    """`bool[frames, n]`"""
    orange: NDArray[np.bool_]
    """`bool[n]`"""
    goals: NDArray[np.int32]
    """`int32[frames, 2]`"""
    reward: Floats
    """`float32[n]` what each car was paid in all."""
    outcome: float
    """1 if blue won, -1 if orange did."""
    ending: str
    """Why it ended: one of `referee.ENDINGS`."""


def record(
    arena: RocketArena,
    blue: Player,
    orange: Player,
    *,
    names: tuple[str, str],
    matches: int = 1,
    each: Callable[[FieldView], None] | None = None,
) -> list[Recording]:
    """Plays matches one after the other on a fresh arena of one. `each` is called with every frame: a live stream."""
    if arena.matches != 1:
        raise InputError(f"a recording needs an arena of 1 match, not {arena.matches}")
    recordings: list[Recording] = []
    camera = Camera(arena)
    while True:
        decisions, results = arena.wait()
        recordings += [film.recording(names) for _, film in camera.see(decisions, results)]
        if len(recordings) >= matches:
            return recordings
        if each is not None:
            each(arena.look(0))
        arena.act(decisions, _actions(decisions, blue, orange, arena.spec.seats // 2))


def follow(arena: RocketArena, ended: Callable[[int, MatchRecord], None]) -> None:
    """Hands over every match of `arena` that ends, as a page; its margin is the difference in goals."""
    camera = Camera(arena)

    def see(decisions: Decisions, results: Results) -> None:
        for slot, film in camera.see(decisions, results):
            ended(slot, MatchRecord(margin=float(abs(film.goals[0] - film.goals[1])), suffix=".html", render=film.page))

    arena.listen(see)


@dataclass(frozen=True)
class Film:
    """One match as it was seen."""

    frames: list[FieldView]
    seconds_a_frame: float
    goals: tuple[int, int]
    """At the end: the frames do not show the goal that ends a match."""
    reward: Floats
    """`float32[n]` what each car was paid in all."""
    outcome: float
    """1 if blue won, -1 if orange did."""
    ending: str
    """Why it ended: one of `referee.ENDINGS`."""

    def recording(self, names: Sequence[str]) -> Recording:
        """As arrays, between the players called `names`."""
        frames = self.frames
        blue, orange = names
        cars = np.stack([frame.cars for frame in frames])
        goals = np.array([frame.goals for frame in frames], np.int32)
        goals[-1] = self.goals
        return Recording(
            names=(blue, orange),
            seconds_a_frame=self.seconds_a_frame,
            ball=np.stack([frame.ball[:3] for frame in frames]),
            cars=cars[..., field.POSITION],
            noses=cars[..., field.FORWARD],
            boost=cars[..., field.BOOST],
            taken=np.stack([frame.pads > 0 for frame in frames]),
            touched=cars[..., field.TOUCHED] > 0,
            demolished=cars[..., field.DEMO_SECONDS] > 0,
            orange=frames[0].orange,
            goals=goals,
            reward=self.reward,
            outcome=self.outcome,
            ending=self.ending,
        )

    def page(self, names: Sequence[str]) -> bytes:
        """As a page, between the players called `names`."""
        return html_page(self.recording(names)).encode()


class Camera:
    """Films all matches of a fresh arena: a frame at each decision, 1 KB of memory or so."""

    def __init__(self, arena: RocketArena) -> None:
        self._arena = arena
        self._frames: list[list[FieldView]] = [[] for _ in range(arena.matches)]
        self._paid = np.zeros((arena.matches, arena.spec.seats), np.float32)

    def see(self, decisions: Decisions, results: Results) -> list[tuple[int, Film]]:
        """Takes in what a `wait` returned; the slots and films of matches that ended, but for those that broke off."""
        films = [
            (slot, self._film(slot, results, at))
            for at, slot in enumerate(results.match.tolist())
            if not results.failed[at]
        ]
        for slot in results.match.tolist():
            self._frames[slot] = []
            self._paid[slot] = 0
        self._paid[decisions.match, decisions.seat] += decisions.reward
        for slot in np.unique(decisions.match).tolist():
            self._frames[slot].append(self._arena.look(slot))
        return films

    def _film(self, slot: int, results: Results, at: int) -> Film:
        frames, spec = self._frames[slot], self._arena.spec
        room, team = spec.seats // 2, int((~frames[0].orange).sum())
        seats = np.concatenate((np.arange(team), room + np.arange(team)))
        assert results.points is not None, "the arena counts goals"
        assert results.ending is not None, "the arena says why matches end"
        return Film(
            frames=frames,
            seconds_a_frame=int(spec.settings["tick_skip"]) / field.TICKS,
            goals=(int(results.points[at, 0]), int(results.points[at, room])),
            reward=(self._paid[slot] + results.reward[at])[seats],
            outcome=float(results.outcome[at, 0]),
            ending=self._arena.endings[results.ending[at]],
        )


def best_for_blue(recordings: list[Recording]) -> Recording:
    """The match that paid the blue cars most."""
    return max(recordings, key=lambda recording: float(recording.reward[~recording.orange].sum()))


def _actions(decisions: Decisions, blue: Player, orange: Player, room: int) -> NDArray[np.int32]:
    actions = np.empty(len(decisions), np.int32)
    for player, side in ((blue, decisions.seat < room), (orange, decisions.seat >= room)):
        rows = np.flatnonzero(side)
        actions[rows] = player.act(decisions.take(rows)).action
    return actions


def summary(recording: Recording) -> str:
    """The result in one line."""
    blue, orange = recording.goals[-1].tolist()
    touches = recording.touched.sum(axis=0)
    sides = [int(touches[recording.orange == side].sum()) for side in (False, True)]
    seconds = len(recording.ball) * recording.seconds_a_frame
    first, second = recording.names
    ended = f"ended by {recording.ending} after {seconds:.0f} s"
    return f"{first} {blue} : {orange} {second}, {ended}, touches {sides[0]} : {sides[1]}"


def write_recording(recording: Recording, page: Path, picture: Path | None) -> list[Path]:
    """Writes the page, and the picture if one is wanted; returns what was written."""
    write_page(page, html_page(recording))
    if picture is None:
        return [page]
    write_file(picture, animated_picture(recording, kind=picture_kind(picture)))
    return [page, picture]


def picture_kind(path: Path) -> str:
    """The format that the name of a picture asks for; raises `InputError` for one that no moving picture has."""
    try:
        return _FORMATS[path.suffix.lower()]
    except KeyError:
        raise InputError(
            f"{path}: pictures can be {', '.join(_FORMATS)}, not {path.suffix or 'without ending'}"
        ) from None


def html_page(recording: Recording) -> str:
    """A page that opens in any browser, with no other file."""
    data = {
        "names": list(recording.names),
        "seconds": recording.seconds_a_frame,
        "ball": recording.ball.round().astype(int).tolist(),
        "cars": recording.cars.round().astype(int).tolist(),
        "noses": recording.noses.round(2).tolist(),
        "boost": recording.boost.round().astype(int).tolist(),
        "touched": recording.touched.astype(int).tolist(),
        "demolished": recording.demolished.astype(int).tolist(),
        "orange": recording.orange.astype(int).tolist(),
        "goals": recording.goals.tolist(),
        "ending": recording.ending,
        "taken": [np.flatnonzero(away).tolist() for away in recording.taken],
        "pads": field.PAD_POSITIONS.astype(int).tolist(),
    }
    title = f"Rocket League: {' - '.join(recording.names)}"
    return match_page(files("sparring.games.rocket") / "pages", "replay", title=title, data=data)


def animated_picture(
    recording: Recording, *, kind: str = "GIF", frames_a_second: float = 10.0, most: int = 600
) -> bytes:
    """A moving picture of the match from above and from the side; at most `most` frames."""
    with optional("a picture", extra="rocket"):
        from PIL import Image, ImageDraw, ImageFont
    every = max(1, round(1 / recording.seconds_a_frame / frames_a_second), -(-len(recording.ball) // most))
    width, height = round(2 * (field.SIDE_WALL + 200) * _SCALE), round(2 * (field.BACK_WALL + 1000) * _SCALE)
    font, palette = ImageFont.load_default(15), Image.new("P", (1, 1))
    palette.putpalette(_shades())
    pictures = []
    for number in range(0, len(recording.ball), every):
        image = Image.new("RGB", (height, _HEAD + width + _SIDE_HEIGHT), _GROUND)
        _draw_frame(ImageDraw.Draw(image), recording, number, width, font)
        pictures.append(image.quantize(palette=palette, dither=Image.Dither.NONE))
    out = BytesIO()
    duration = round(1000 * every * recording.seconds_a_frame)
    pictures[0].save(out, kind, save_all=True, append_images=pictures[1:], duration=duration, loop=0)
    return out.getvalue()


def _shades() -> list[int]:
    """A palette: every colour of the picture, and it fading into the ground."""
    return [
        round(ground + (value - ground) * part / _SHADES)
        for colour in (*COLOURS, _WHITE, _LINE, _TOUCH)
        for part in range(_SHADES + 1)
        for value, ground in zip(colour, _GROUND, strict=True)
    ]


def _draw_frame(pen: Any, recording: Recording, number: int, width: int, font: object) -> None:
    """One frame: the score, the field from above with blue's goal on the left, and below it from the side."""
    left = (field.BACK_WALL + 1000) * _SCALE
    middle, floor = _HEAD + width / 2, _HEAD + width + _SIDE_HEIGHT - 12

    def above(point: Sequence[float] | Floats) -> tuple[float, float]:
        return left + float(point[1]) * _SCALE, middle + float(point[0]) * _SCALE

    def beside(point: Sequence[float] | Floats) -> tuple[float, float]:
        return left + float(point[1]) * _SCALE, floor - float(point[2]) * _SCALE

    def ring(centre: tuple[float, float], radius: float, **colours: Any) -> None:
        x, y = centre
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), **colours)

    wall, side, goal, deep = field.BACK_WALL, field.SIDE_WALL, field.GOAL_HALF_WIDTH, field.BACK_WALL + _GOAL_DEPTH
    corners = [(side - _CORNER, wall), (side, wall - _CORNER), (side, _CORNER - wall), (side - _CORNER, -wall)]
    edge = [above(point) for point in (*corners, *((-x, y) for x, y in reversed(corners)), corners[0])]
    pen.line(edge, fill=_LINE)
    pen.line((above((-side, 0)), above((side, 0))), fill=_LINE)
    ring(above((0, 0)), 910 * _SCALE, outline=_LINE)
    pen.line((beside((0, -wall, 0)), beside((0, wall, 0))), fill=_LINE)
    for sign, colour in zip((-1, 1), COLOURS, strict=True):
        mouth = [(-goal, sign * wall), (-goal, sign * deep), (goal, sign * deep), (goal, sign * wall)]
        pen.line([above(point) for point in mouth], fill=colour, width=2)
        high = [
            (0, sign * y, z) for y, z in ((wall, field.GOAL_HEIGHT), (deep, field.GOAL_HEIGHT), (deep, 0), (wall, 0))
        ]
        pen.line([beside(point) for point in high], fill=colour, width=2)
    for place in (above, beside):
        ring(place(recording.ball[number]), 5, fill=_WHITE)
        for car, orange in enumerate(recording.orange.tolist()):
            if recording.demolished[number, car]:
                continue
            at = place(recording.cars[number, car])
            nose = recording.cars[number, car] + recording.noses[number, car] * 250
            pen.line((at, place(nose)), fill=_WHITE, width=2)
            ring(at, 5, fill=COLOURS[int(orange)])
            if recording.touched[number, car]:
                ring(at, 9, outline=_TOUCH)
    minutes, seconds = divmod(int(number * recording.seconds_a_frame), 60)
    pen.text((left, 6), f"{minutes}:{seconds:02d}", fill=_WHITE, font=font, anchor="ma")
    first, second = (printable(name, _LONGEST_NAME) for name in recording.names)
    blue, orange_goals = recording.goals[number].tolist()
    pen.text((left - 40, 6), f"{first}   {blue}", fill=COLOURS[0], font=font, anchor="ra")
    pen.text((left + 40, 6), f"{orange_goals}   {second}", fill=COLOURS[1], font=font, anchor="la")
