"""What the episodes of an update show about the policy that played them, beyond its learner's metrics."""

import numpy as np

from sparring.core import Episodes
from sparring.learn.returns import generalised_advantages

_GROUPS = 10


def value_calibration(episodes: Episodes) -> dict[str, float]:
    """How far expected gains are from actual ones, undiscounted.

    `value_bias` is the mean of expected minus actual gain. `calibration_error` puts rows into ten groups of similar
    expectation, and is the mean distance between a group's mean expectation and mean gain. A value function that is 0
    everywhere has neither in self-play, but explains nothing: see `explained_variance`.
    """
    value, headers = episodes.steps.value, episodes.headers
    _, gain = generalised_advantages(episodes.steps.reward, value, headers.lengths, headers.last_value, 1.0, 1.0)
    over = (value - gain)[np.argsort(value, kind="stable")]
    groups = [abs(float(part.mean())) for part in np.array_split(over, _GROUPS) if len(part)]
    return {"value_bias": float(over.mean()), "calibration_error": float(np.mean(groups))}
