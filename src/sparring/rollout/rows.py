"""The row log: every recorded decision, copied once, in the order it came.

Episodes of hundreds of matches grow at the same time. Instead of a buffer per seat, rows are appended to one
log and each seat keeps the numbers of its rows; an episode is then one gather. Finished rows are dropped
when the episodes are taken out, and the rows of matches still running move to the front.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sparring.core import Answers, Array, Decisions, GameSpec
from sparring.core.episodes import pack_mask


class RowLog:
    """Growing columns, one entry a decision."""

    def __init__(self, spec: GameSpec, *, keep_policy: bool, capacity: int = 4096) -> None:
        self.used = 0
        self.columns: dict[str, Array] = {
            "legal": np.zeros((capacity, -(-spec.actions // 8)), np.uint8),
            "action": np.zeros(capacity, np.int32),
            "turn": np.zeros(capacity, np.int32),
            "reward": np.zeros(capacity, np.float32),
            "log_prob": np.zeros(capacity, np.float32),
            "value": np.zeros(capacity, np.float32),
        }
        if keep_policy:
            self.columns["policy"] = np.zeros((capacity, spec.actions), np.float32)
        for name, field in spec.observation.items():
            self.columns[f"observation/{name}"] = field.zeros(capacity)

    def append(self, decisions: Decisions, answers: Answers, turn: NDArray[np.int32]) -> NDArray[np.intp]:
        """Copies k rows to the end, with their `turn: int32[k]`; returns their numbers `intp[k]`."""
        start, end = self.used, self.used + len(decisions)
        if end > len(self.columns["action"]):
            self._grow(end)
        columns = self.columns
        columns["legal"][start:end] = pack_mask(decisions.legal)
        columns["action"][start:end] = answers.action
        columns["turn"][start:end] = turn
        columns["reward"][start:end] = 0
        columns["log_prob"][start:end] = 0 if answers.log_prob is None else answers.log_prob
        columns["value"][start:end] = 0 if answers.value is None else answers.value
        if "policy" in columns:
            if answers.policy is None:
                raise ValueError("this collector keeps policies, but a recorded player gives none")
            columns["policy"][start:end] = answers.policy
        for name, array in decisions.observation.items():
            columns[f"observation/{name}"][start:end] = array
        self.used = end
        return np.arange(start, end, dtype=np.intp)

    def gather(self, rows: NDArray[np.intp]) -> dict[str, Array]:
        """Copies of every column at `rows`."""
        return {name: column[rows] for name, column in self.columns.items()}

    def keep(self, rows: NDArray[np.intp]) -> None:
        """Drops everything but `rows`, which are renumbered 0, 1, 2, ... in the given order."""
        for column in self.columns.values():
            column[: len(rows)] = column[rows]
        self.used = len(rows)

    def snapshot(self) -> dict[str, Array]:
        """Copies of the used part of every column."""
        return {name: column[: self.used].copy() for name, column in self.columns.items()}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to `snapshot`."""
        used = len(snapshot["action"])
        if used > len(self.columns["action"]):
            self._grow(used)
        for name, column in self.columns.items():
            column[:used] = snapshot[name]
        self.used = used

    def _grow(self, needed: int) -> None:
        capacity = max(needed, 2 * len(self.columns["action"]))
        for name, column in self.columns.items():
            larger = np.zeros((capacity, *column.shape[1:]), column.dtype)
            larger[: self.used] = column[: self.used]
            self.columns[name] = larger
