"""What the episodes of an update say about the policy that played them, beyond what its learner reports."""

import numpy as np

from sparring.core import Episodes
from sparring.learn.returns import generalised_advantages

_GROUPS = 10


def value_calibration(episodes: Episodes) -> dict[str, float]:
    """How far expected gains are from those that came, undiscounted.

    `value_bias` is the mean of expected minus real gain. For `calibration_error` rows are put into ten groups of like
    expectation; it is the mean over groups of how far mean expectation and mean gain lie apart. A value function that
    says 0 everywhere has no bias in self-play and no error here, but explains nothing: see `explained_variance`.
    """
    value, headers = episodes.steps.value, episodes.headers
    _, gain = generalised_advantages(episodes.steps.reward, value, headers.lengths, headers.last_value, 1.0, 1.0)
    over = (value - gain)[np.argsort(value, kind="stable")]
    groups = [abs(float(part.mean())) for part in np.array_split(over, _GROUPS) if len(part)]
    return {"value_bias": float(over.mean()), "calibration_error": float(np.mean(groups))}
