"""Requests as `node/simulator.js` sends them: a side's first one whole, each later one as what changed since its last.

A request is some 2.5 KB of JSON, of which a turn changes a few words. What did not change is the same object as in the
last request, so that whoever follows a side (the tracker) sees at a glance what is new.
"""

from typing import Any

import msgspec

_DECODE = msgspec.json.Decoder().decode


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
