"""The bottleneck in one sentence: which stage, what it costs, and the setting to change.

The bottleneck is the stage that the whole would gain most from if it were twice as fast, as the pipeline model has it;
so a long stage that nobody waits for is none.
"""

from typing import Any

import msgspec

from sparring.bench.diagnose.model import Model
from sparring.core.machine import cores
from sparring.training.config import TrainConfig

_WORTH_OVERLAP = 1.1
"""Overlapping collecting and learning is advised if it would be so many times as fast at least."""
NAMES = {
    "env": "the game's engine",
    "encode": "encoding observations",
    "mask": "masking illegal actions",
    "reward": "computing rewards",
    "inference": "the network's forward pass",
    "search": "looking ahead",
    "record": "recording episodes",
    "collect": "collecting episodes",
    "learner": "the learner",
    "publish": "publishing weights",
    "rest": "work between the stages",
}


def gains(model: Model) -> dict[str, float]:
    """By kind of stage: how many times the rate would be if it were twice as fast; the largest first."""
    kinds = {stage.partition("/")[0] for stage in (*model.acting, *model.learning, *model.helpers)}
    found = {kind: model.wall / model.predict({kind: 2.0}) for kind in sorted(kinds)}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def bottleneck(model: Model, config: TrainConfig, *, batch: float, best_batch: int | None, setting: str) -> str:
    """The sentence. `batch` is the rows of a forward pass in the run, `setting` makes helpers of the arena more."""
    kind, gain = next(iter(gains(model).items()))
    advice = _advice(kind, model, config, batch=batch, best_batch=best_batch, setting=setting)
    what = f"{NAMES.get(kind, kind)} ({kind})"
    return f"The bottleneck is {what}: twice as fast, it would give {gain:.2f} times the rows; {advice}."


def _advice(kind: str, model: Model, config: TrainConfig, *, batch: float, best_batch: int | None, setting: str) -> str:
    learner: dict[str, Any] = msgspec.to_builtins(config.learner)
    sizes = learner.get("ppo", learner)
    at = "learner.ppo" if "ppo" in learner else "learner"
    spare = cores() > 1 + model.helper_count + config.overlap
    if kind in ("env", "encode", "mask", "reward"):
        if not spare:
            return f"all {cores()} cores have work, so only more cores help, or settings of the game that ask for less"
        if kind == "env" and setting:
            return f"raise {setting} (now {model.helper_count})"
        return f"raise workers (now {config.workers})"
    if kind == "inference":
        if best_batch is not None and batch < best_batch / 2:
            return (
                f"raise matches (now {config.matches}): a forward pass has {batch:.0f} rows, and {best_batch} are best"
            )
        if config.device != "cuda" and config.actor_dtype is None:
            return "try actor_dtype=bfloat16 or backend=openvino, a GPU, or a smaller network"
        return "make the network smaller"
    if kind == "search":
        simulations = learner.get("search", {}).get("simulations")
        return f"lower learner.search.simulations (now {simulations})" if simulations else "the player itself is slow"
    if kind == "learner":
        parts = model.parts({})
        if not config.overlap and cores() > 1 and sum(parts) > _WORTH_OVERLAP * max(parts):
            return "set overlap=true, so that episodes are collected meanwhile"
        if sizes.get("epochs", 1) > 1:
            return f"lower {at}.epochs (now {sizes['epochs']}), try dtype=bfloat16, or a GPU"
        return "try dtype=bfloat16, a GPU, or a smaller network"
    return f"raise {at}.batch_size (now {sizes['batch_size']})"
