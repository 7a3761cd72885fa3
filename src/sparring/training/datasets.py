"""Episodes on disk for a run: which it learns from, which it is validated on, and whether they fit."""

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Episodes, GameSpec, InputError
from sparring.core.rows import flatten, nested
from sparring.data.catalogue import Filter
from sparring.data.dataset import Batch, Dataset
from sparring.data.hiding import hide_guesses
from sparring.data.statistics import words_for
from sparring.inference import Device
from sparring.learn import parallel
from sparring.learn.choices import ChoiceSettings
from sparring.learn.validation import Validation, count_choices
from sparring.policy import Policy, Versatile, policy_for
from sparring.training.config import TrainConfig, validation_day

_VALIDATED_EPISODES = 64
"""Episodes that are predicted at a time."""


class Lessons:
    """The episodes that a run learns from, in an endless sequence of batches, and how frequent each choice is."""

    def __init__(
        self,
        config: TrainConfig,
        spec: GameSpec,
        policy: Policy,
        *,
        rows: int,
        length: int | None,
        say: Callable[[str], None],
    ) -> None:
        """Batches of about `rows` decisions: in windows of `length`, or whole episodes if that is None."""
        day = validation_day(config)
        where = Filter(split=(0.0, 1.0 - config.validation.share), until=day)
        self._spec = spec
        self._policy = policy
        self._data = _dataset(config, where, rows=rows, length=length, workers=config.workers, shared=True, say=say)
        _check_specs(self._data.specs, spec, policy, say)
        self._seed = config.seed
        self._hide = config.learner.hide_filled if isinstance(config.learner, ChoiceSettings) else 0.0
        if self._hide and not any("filled" in columns for columns in self._data.columns):
            say("data: nothing was filled in (sparring replays parse --own-team usage), so hide_filled hides nothing")
        self.about = f"{self._data.rows:,} decisions of {self._data.episodes:,} episodes"
        self.position: Mapping[str, Any] | None = None
        """After the last batch; JSON-ready."""
        self.frequent: dict[str, NDArray[np.float64]] = {
            kind_of(one): np.zeros(one.actions) for one in self._data.specs
        }
        """By `kind_of` spec: how often each action was chosen so far."""
        self._batches: Generator[Batch, None, None] = self._data.batches()

    def draw(self) -> Episodes:
        """The next batch."""
        batch, epoch = next(self._batches), self.epoch
        self.position = batch.position
        shown = hide_guesses(batch.episodes, self._hide, seed=self._seed, epoch=epoch)
        episodes = fitting(shown, self._spec, self._policy)
        self.frequent[kind_of(batch.episodes.spec)] += count_choices(episodes)
        return episodes

    @property
    def epoch(self) -> int:
        """How often all episodes have been drawn."""
        return 0 if self.position is None else int(self.position["epoch"])

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Where in the data the run is: values and arrays."""
        batch = self.position["batch"] if self.position else 0
        return {"position": self.position, "part": batch / len(self._data)}, flatten(
            {"frequent": {kind: counts.copy() for kind, counts in self.frequent.items()}}
        )

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Goes on after the last batch of a `snapshot`; with other processes than then, equally far into the epoch."""
        self.position = values["position"]
        if self.position and values.get("processes", 1) != parallel.size():
            self.position = self._data.position(int(self.position["epoch"]), float(values["part"]))
        self._batches = self._data.batches(self.position)
        for kind, counts in nested(arrays)["frequent"].items():
            self.frequent[kind][:] = counts

    def close(self) -> None:
        """Ends the loader processes."""
        self._batches.close()


class HeldOut:
    """The episodes that a run never learns from, and how well its policy predicts them."""

    def __init__(
        self, config: TrainConfig, spec: GameSpec, *, device: Device, say: Callable[[str], None] = lambda text: None
    ) -> None:
        day, share = validation_day(config), config.validation.share
        parts = {}
        if share:
            parts["validation"] = Filter(split=(1.0 - share, 1.0), until=day)
        if day is not None:
            parts["validation_later"] = Filter(since=day)
        try:
            self._parts = {
                name: _dataset(config, where, rows=0, length=None, workers=0, say=say) for name, where in parts.items()
            }
        except InputError as error:
            raise InputError(f"validation: {error}; change validation.share or since, or hold nothing out") from error
        self._decisions = config.validation.decisions
        self._spec = spec
        self._device = device
        specs = [one for data in self._parts.values() for one in data.specs]
        self._words = {id(one): words_for(one, say) for one in specs}
        self._several = len({str(one.settings.get("format")) for one in specs}) > 1

    def validate(self, policy: Policy, frequent: Mapping[str, NDArray[np.float64]]) -> dict[str, float]:
        """The metrics of `Validation`, under `validation/` and, for matches held out by date, `validation_later/`.

        `frequent` as in `Lessons`.
        """
        found: dict[str, float] = {}
        for name, data in self._parts.items():
            figures, rows = Validation(), 0
            with closing(data.epoch()) as batches:
                for batch in batches:
                    spec = batch.episodes.spec
                    format = str(spec.settings.get("format", "")) if self._several else ""
                    figures.add(
                        policy,
                        fitting(batch.episodes, self._spec, policy),
                        frequent.get(kind_of(spec), np.zeros(spec.actions)),
                        device=self._device,
                        words=self._words.get(id(spec)),
                        name=format,
                    )
                    rows += batch.episodes.rows
                    if rows >= self._decisions:
                        break
            found |= {f"{name}/{figure}": value for figure, value in figures.metrics().items()}
        return found


def kind_of(spec: GameSpec) -> str:
    """A name for specs whose actions have the same meaning."""
    return f"{spec.settings.get('format', spec.game)}-{spec.actions}"


def validation_due(config: TrainConfig, update: int, decisions: int) -> bool:
    """Whether the policy is validated after this update: whenever it is rated or saved, and at the end."""
    every = config.evaluation.every or config.checkpoint.every
    return update % every == 0 or decisions >= config.decisions


def fitting(episodes: Episodes, spec: GameSpec, policy: Policy) -> Episodes:
    """`episodes` with only the fields that `policy` sees in `spec`; they keep their own spec if it plays several."""
    seen = replace(episodes.spec, observation=spec.observation) if isinstance(policy, Versatile) else spec
    return episodes.observing(tuple(spec.observation), seen)


def _dataset(
    config: TrainConfig,
    where: Filter,
    *,
    rows: int,
    length: int | None,
    workers: int,
    say: Callable[[str], None],
    shared: bool = False,
) -> Dataset:
    """Batches of about `rows` decisions, or of `_VALIDATED_EPISODES` episodes if that is 0.

    If they are `shared`, each of several processes gets its part of them.
    """

    def make(batch_size: int, say: Callable[[str], None] = say) -> Dataset:
        return Dataset(
            config.data,
            batch_size=batch_size,
            length=length,
            where=where,
            seed=config.seed,
            workers=workers,
            rank=parallel.rank() if shared else 0,
            world_size=parallel.size() if shared else 1,
            strict=config.strict,
            say=say,
        )

    if not rows:
        return make(_VALIDATED_EPISODES)
    if length is not None:
        return make(max(1, rows // length))
    whole = make(1, say=lambda text: None)
    return make(max(1, round(rows * whole.episodes / whole.rows)))


def _check_specs(specs: tuple[GameSpec, ...], spec: GameSpec, policy: Policy, say: Callable[[str], None]) -> None:
    """Raises `InputError` if the network cannot learn from the episodes; `say` reports other formats."""
    ours = spec.settings.get("format")
    for found in specs:
        if found.game != spec.game:
            raise InputError(f"data: episodes of {found.game}, not of {spec.game}")
        missing = [name for name, field in spec.observation.items() if found.observation.get(name) != field]
        if missing:
            raise InputError(f"data: no {', '.join(missing)} in the observation, as the settings of this run want it")
        theirs = found.settings.get("format")
        if isinstance(policy, Versatile):
            policy_for(policy, found)
        elif found.actions != spec.actions:
            told = f"episodes of {theirs}, not of {ours}: " if theirs != ours else ""
            raise InputError(f"data: {told}{found.actions} actions, not {spec.actions}: {dict(found.settings)}")
        elif theirs != ours:
            say(f"data: episodes of {theirs} are learned from as if they were of {ours}, which has the same actions")
    formats = dict.fromkeys(str(found.settings.get("format")) for found in specs)
    if isinstance(policy, Versatile) and set(formats) != {ours}:
        told = "" if ours in formats else f", of which the data has nothing (settings.format={next(iter(formats))})"
        say(f"data: episodes of {', '.join(formats)}, each learned as what it is; the run rates and plays {ours}{told}")
