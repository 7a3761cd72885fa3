"""Validation: how well a policy predicts what other players chose and how their matches ended.

Every metric is a mean over decisions: over all of them, and over groups by the kind of choice, if the game has words
for it (the total flatters: replacements are easier than moves, and a decision with one legal action is not a decision),
by turn, by rating and by format. The baseline is the legal choice that was most frequent in training.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core import Episodes
from sparring.core.words import Words
from sparring.inference import Device
from sparring.inference.device import to_numpy
from sparring.learn.choices import chosen_actions, hits, set_log_prob
from sparring.learn.outputs import row_outputs
from sparring.policy import Policy

BINS = 10
"""Groups of similar probability or value, in which the predicted and the observed mean are compared."""
RATING_BAND = 200
"""Rating points per group."""
_TURNS = (1, 2, 4, 8, 16, 32, 64)
"""First turns of the groups by turn."""
_FORCED = "forced"
"""The kind of decisions with one legal action."""

Numbers = NDArray[np.float64]


@dataclass
class Validation:
    """The sums of a validation, to which batches are added."""

    _sums: dict[str, Numbers] = field(default_factory=dict)
    """By group (`kind/move/`): decisions, and the sums of each of `_FIGURES`."""
    _bins: dict[str, Numbers] = field(default_factory=dict)
    """By what is predicted: `float64[BINS, 3]` decisions, sum of predictions, sum of observations."""

    def add(
        self,
        policy: Policy,
        episodes: Episodes,
        frequent: NDArray[np.float64],
        *,
        device: Device,
        words: Words | None = None,
        name: str = "",
    ) -> None:
        """Adds whole `episodes`, also as a group of their own if a `name` is given.

        `frequent: float64[actions]` is how often each action was chosen in such episodes in training.
        """
        log_probs, values = row_outputs(policy, episodes, device=device)
        legal, chosen = episodes.unpack_legal(), chosen_actions(episodes, slice(None))
        chosen_here = device.tensor(chosen)
        hit = to_numpy(hits(log_probs, chosen_here))
        likeliest = np.where(legal, frequent, -1.0).argmax(axis=1)
        figures = {
            "log_loss": -to_numpy(set_log_prob(log_probs, chosen_here)),
            "top1": hit[:, 0],
            "top3": hit.any(axis=1),
            "frequent_top1": np.take_along_axis(chosen, likeliest[:, None], axis=1)[:, 0],
        }
        each = np.stack([np.ones(len(legal)), *figures.values()], axis=1).astype(np.float64)
        for group, rows in _groups(episodes, legal, chosen, words, name).items():
            self._sums[group] = self._sums.get(group, np.zeros(each.shape[1])) + each[rows].sum(axis=0)
        confidence = to_numpy(log_probs.amax(-1)).astype(np.float64)
        self._compare("policy", np.exp(confidence), hit[:, 0], low=0.0, high=1.0)
        outcome = np.repeat(episodes.headers.outcome, episodes.headers.lengths)
        self._compare("value", to_numpy(values), outcome, low=-1.0, high=1.0)

    def _compare(self, what: str, predicted: Numbers, observed: NDArray[Any], *, low: float, high: float) -> None:
        at = ((predicted - low) / (high - low) * BINS).astype(np.intp).clip(0, BINS - 1)
        each = (np.ones(len(at)), predicted, observed.astype(np.float64))
        sums = np.stack([np.bincount(at, weights, minlength=BINS) for weights in each], axis=1)
        self._bins[what] = self._bins.get(what, np.zeros_like(sums)) + sums

    def metrics(self) -> dict[str, float]:
        """All metrics by name: `top1`, `kind/move/top1`, `policy_bin/3/observed`, ...; empty if nothing was added."""
        found: dict[str, float] = {}
        for group, sums in self._sums.items():
            found |= {f"{group}{name}": float(total / sums[0]) for name, total in zip(_FIGURES, sums[1:], strict=True)}
            found[f"{group}decisions"] = float(sums[0])
        for what, bins in self._bins.items():
            rows = bins[:, 0]
            gap = np.abs(bins[:, 1] - bins[:, 2]).sum() / rows.sum()
            found[f"{what}_calibration_error"] = float(gap)
            for at in np.flatnonzero(rows).tolist():
                about = {
                    "share": rows[at] / rows.sum(),
                    "predicted": bins[at, 1] / rows[at],
                    "observed": bins[at, 2] / rows[at],
                }
                found |= {f"{what}_bin/{at}/{name}": float(value) for name, value in about.items()}
        return found


_FIGURES = ("log_loss", "top1", "top3", "frequent_top1")


def count_choices(episodes: Episodes) -> NDArray[np.float64]:
    """`float64[actions]` how often each action was chosen; of a set of n possible ones, each counts 1 / n."""
    chosen = chosen_actions(episodes, slice(None))
    return np.asarray(1.0 / chosen.sum(axis=1) @ chosen, np.float64)


def _groups(
    episodes: Episodes, legal: NDArray[np.bool_], chosen: NDArray[np.bool_], words: Words | None, name: str
) -> Mapping[str, NDArray[np.bool_] | slice]:
    """The rows of every group that has any, by the prefix of its metrics' names."""
    headers = episodes.headers
    groups: dict[str, NDArray[np.bool_] | slice] = {"": slice(None)}
    if name:
        groups[f"format/{name}/"] = slice(None)
    forced = legal.sum(axis=1) == 1
    groups[f"kind/{_FORCED}/"] = forced
    if words is not None:
        kinds = np.where(forced, -1, words.choice_kinds(episodes.steps.observation, chosen))
        groups |= {f"kind/{kind}/": kinds == number for number, kind in enumerate(words.choices)}
    turn = 1 + np.arange(episodes.rows) - np.repeat(episodes.starts, headers.lengths)
    for first, after in zip(_TURNS, [*_TURNS[1:], np.inf], strict=True):
        groups[f"turn/{first}/"] = (turn >= first) & (turn < after)
    if headers.rating is not None:
        band = np.repeat(headers.rating, headers.lengths) // RATING_BAND * RATING_BAND
        groups |= {f"rating/{int(low)}/": band == low for low in np.unique(band[~np.isnan(band)])}
    return {group: rows for group, rows in groups.items() if isinstance(rows, slice) or rows.any()}
