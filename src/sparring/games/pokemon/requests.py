"""Requests: what a side is asked, as JSON.

`next_request` reads those of `node/simulator.js`: a side's first one whole, each later one as what changed since its
last. A request is some 2.5 KB of JSON, of which a turn changes a few words. What did not change is the same object as
in the last request, so that whoever follows a side (the tracker) sees at a glance what is new.

`read_request` reads those of a server, which may hold anything: what it returns has the shape that the tracker and the
action space rely on.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from sparring.games.pokemon.columns import SLOTS, TEAM
from sparring.games.pokemon.tracking.tables import parse_condition

_DECODE = msgspec.json.Decoder().decode

_Word = Annotated[str, Meta(max_length=200)]
_Stat = Annotated[int, Meta(ge=0, le=99_999)]
_Points = Annotated[int, Meta(ge=0, le=255)]
_Stats = TypedDict("_Stats", {"atk": _Stat, "def": _Stat, "spa": _Stat, "spd": _Stat, "spe": _Stat})


class _Pokemon(TypedDict):
    ident: Annotated[str, Meta(pattern="^p[12]: ", max_length=200)]
    details: _Word
    condition: _Word
    active: bool
    stats: _Stats
    moves: Annotated[list[_Word], Meta(max_length=24)]
    baseAbility: _Word
    item: _Word
    ability: NotRequired[_Word]
    teraType: NotRequired[_Word]
    commanding: NotRequired[bool]
    reviving: NotRequired[bool]


class _Side(TypedDict):
    id: Literal["p1", "p2"]
    pokemon: Annotated[list[_Pokemon], Meta(min_length=1, max_length=TEAM)]


class _Move(TypedDict):
    id: _Word
    pp: NotRequired[_Points]
    maxpp: NotRequired[_Points]
    target: NotRequired[_Word]
    disabled: NotRequired[bool | _Word]


class _OtherMove(TypedDict):
    """A move as a gimmick makes it."""

    move: NotRequired[_Word]
    target: NotRequired[_Word]
    disabled: NotRequired[bool | _Word]


class _MaxMoves(TypedDict):
    maxMoves: list[_OtherMove]


class _Active(TypedDict):
    moves: Annotated[list[_Move], Meta(min_length=1, max_length=24)]
    maxMoves: NotRequired[_MaxMoves | None]
    canZMove: NotRequired[list[_OtherMove | None] | None]
    canDynamax: NotRequired[bool]


class _Request(TypedDict):
    rqid: NotRequired[Annotated[int, Meta(ge=0, le=2**31)]]
    wait: NotRequired[bool]
    update: NotRequired[bool]
    teamPreview: NotRequired[bool]
    forceSwitch: NotRequired[Annotated[list[bool], Meta(min_length=1, max_length=SLOTS)]]
    active: NotRequired[Annotated[list[_Active | None], Meta(min_length=1, max_length=SLOTS)]]
    side: NotRequired[_Side]


_CHECK = msgspec.json.Decoder(_Request | None).decode


def next_request(text: str, last: dict[str, Any]) -> dict[str, Any]:
    """The request that `text` tells, after `last`, which stays as it is."""
    told = _DECODE(text)
    if type(told) is dict:
        return told
    order, changes, request = told
    side = last["side"]
    team = side["pokemon"]
    team = [team[place] for place in order] if order else team.copy()
    for place, keys in changes:
        team[place] = team[place] | keys
    request["side"] = {**side, "pokemon": team}
    return request  # type: ignore[no-any-return]


def read_request(text: str, *, places: int) -> dict[str, Any] | None:
    """A server's request to a side with `places` on the field, None if it only tells us to wait.

    Raises `ValueError` if it is malformed.
    """
    checked = _CHECK(text or "null")
    if checked is None or checked.get("wait"):
        return None
    if "side" not in checked or not any(key in checked for key in ("active", "forceSwitch", "teamPreview")):
        raise ValueError("a request for nothing")
    team = checked["side"]["pokemon"]
    for entry in team:
        parse_condition(entry["condition"])
    for asked in (checked.get("active"), checked.get("forceSwitch")):
        if asked is not None and len(asked) < min(places, len(team)):
            raise ValueError("a request for too few places")
    for entry, active in zip(team, checked.get("active", ()), strict=False):
        if active is not None:
            _check_moves(active)
        elif not entry["condition"].endswith(" fnt"):
            raise ValueError(f"a request that offers {entry['ident']} nothing")
    return _DECODE(text)  # type: ignore[no-any-return]


def _check_moves(active: _Active) -> None:
    counted = ["pp" in move and "maxpp" in move for move in active["moves"]]
    if any(counted) and not all(counted):
        raise ValueError("a request that tells PP of some moves only")
    if active.get("canDynamax") and not active.get("maxMoves"):
        raise ValueError("a request that names no max moves")
