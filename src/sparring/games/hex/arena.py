"""The Hex arena: all matches are rows of a few arrays, shown and stepped by one call of a `rules` kernel each."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Decisions, Field, GameSpec, IllegalAction, Results
from sparring.games.hex.rules import OUT, accept, begin, collect, is_legal, step
from sparring.games.hex.settings import HexSettings


def hex_spec(settings: HexSettings) -> GameSpec:
    """What rows look like: `planes` are the mover's stones and the other's, the mover connecting top and bottom."""
    size = settings.size
    return GameSpec(
        game="hex",
        settings={"size": size, "swap": settings.swap},
        seats=2,
        actions=size * size + settings.swap,
        observation={"planes": Field((2, size, size), "uint8")},
    )


class HexArena:
    """`matches` matches of Hex at the same time. Rows come in slot order; seats alternate, so a slot has one row.

    Openings of a slot depend only on the seed, the slot and how many matches it has played: two arenas of one
    seed lay the same openings, whoever plays.
    """

    def __init__(self, settings: HexSettings, *, matches: int, seed: int) -> None:
        self.spec = hex_spec(settings)
        self.matches = matches
        self._settings = settings
        cells = settings.size**2
        self._slots: dict[str, Array] = {
            "state": np.zeros((matches, cells + 1), np.uint8),
            "seat": np.zeros(matches, np.int32),
            "status": np.zeros(matches, np.uint8),
            "moves": np.zeros(matches, np.int32),
            "history": np.zeros((matches, cells + 1), np.int16),
            "last_moves": np.zeros(matches, np.int32),
            "last_history": np.zeros((matches, cells + 1), np.int16),
            "stream": np.random.default_rng(seed).integers(0, 2**64, matches, np.uint64),
            "ended": np.zeros(matches, np.int32),
            "winner": np.zeros(matches, np.int32),
            "counts": np.zeros(1, np.int32),
        }
        self._rows = Decisions(
            match=np.zeros(matches, np.int32),
            seat=np.zeros(matches, np.int32),
            observation={"planes": self.spec.observation["planes"].zeros(matches)},
            legal=np.zeros((matches, self.spec.actions), np.bool_),
            reward=np.zeros(matches, np.float32),
            first=np.zeros(matches, np.bool_),
        )
        self._planes = self._rows.observation["planes"].reshape(matches, 2, cells)
        self._scratch = np.zeros(cells, np.int32)
        s = self._slots
        begin(s["state"], s["seat"], s["moves"], s["history"], s["stream"], self._scratch, *self._rules)

    @property
    def _rules(self) -> tuple[int, bool, int]:
        return self._settings.size, self._settings.swap, self._settings.opening

    def wait(self) -> tuple[Decisions, Results]:
        """The row of every slot that is ready, and the matches that ended since the last call."""
        s, rows = self._slots, self._rows
        k = collect(
            s["state"],
            s["seat"],
            s["status"],
            s["moves"],
            self._settings.opening,
            rows.match,
            rows.seat,
            self._planes,
            rows.legal,
            rows.first,
        )
        results = self._take_results()
        if k == self.matches:
            return rows, results
        if k == 0 and len(results) == 0:
            raise RuntimeError("nothing to wait for: every row is out and none has been answered")
        return (
            Decisions(
                match=rows.match[:k],
                seat=rows.seat[:k],
                observation={name: field[:k] for name, field in rows.observation.items()},
                legal=rows.legal[:k],
                reward=rows.reward[:k],
                first=rows.first[:k],
            ),
            results,
        )

    def act(self, decisions: Decisions, actions: NDArray[np.int32]) -> None:
        """Plays `actions: int32[k]`; if one is refused nothing is played."""
        if actions.shape != decisions.match.shape:
            raise ValueError(f"{len(decisions)} rows need as many actions, got shape {list(actions.shape)}")
        match = np.ascontiguousarray(decisions.match)
        seat = np.ascontiguousarray(decisions.seat)
        action = np.ascontiguousarray(actions, np.intp)
        s = self._slots
        refused = accept(s["state"], s["seat"], s["status"], match, seat, action)
        if refused >= 0:
            raise self._refusal(int(match[refused]), int(seat[refused]), int(action[refused]))
        step(
            s["state"],
            s["seat"],
            s["status"],
            s["moves"],
            s["history"],
            s["last_moves"],
            s["last_history"],
            s["stream"],
            s["ended"],
            s["winner"],
            s["counts"],
            match,
            action,
            self._scratch,
            *self._rules,
        )

    def close(self) -> None:
        """Nothing is held but memory."""

    def history(self, match: int) -> list[int]:
        """The moves of the running match in `match`, the opening included.

        Cells are absolute (row * size + column, whoever moved), size * size is the swap; seats alternate from seat 0.
        """
        moves: list[int] = self._slots["history"][match, : self._slots["moves"][match]].tolist()
        return moves

    def last_history(self, match: int) -> list[int]:
        """The moves of the match that ended last in slot `match`, as `history` gives them; empty before the first."""
        moves: list[int] = self._slots["last_history"][match, : self._slots["last_moves"][match]].tolist()
        return moves

    def snapshot(self) -> dict[str, Array]:
        """Every slot, the random streams and results not yet told. Rows that are out stay out."""
        return {name: array.copy() for name, array in self._slots.items()}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to `snapshot`, taken from an arena with the same settings and number of matches."""
        for name, array in self._slots.items():
            if name not in snapshot or snapshot[name].shape != array.shape or snapshot[name].dtype != array.dtype:
                raise ValueError(f"snapshot lacks {name}: {array.dtype}{list(array.shape)}; is it of another arena?")
        for name, array in self._slots.items():
            array[...] = snapshot[name]

    def _take_results(self) -> Results:
        counts = self._slots["counts"]
        n = int(counts[0])
        if n == 0:
            return Results.none(2)
        counts[0] = 0
        outcome = np.full((n, 2), -1, np.float32)
        outcome[np.arange(n), self._slots["winner"][:n]] = 1
        return Results(
            match=self._slots["ended"][:n].copy(),
            outcome=outcome,
            reward=outcome.copy(),
            failed=np.zeros(n, np.bool_),
        )

    def _refusal(self, match: int, seat: int, action: int) -> Exception:
        s = self._slots
        if not 0 <= match < self.matches:
            return ValueError(f"match {match} is not one of the arena's 0..{self.matches - 1}")
        if s["status"][match] != OUT or s["seat"][match] != seat:
            return ValueError(f"match {match}, seat {seat} has no row that waits for an action")
        if is_legal(s["state"][match], action):
            return ValueError(f"match {match}, seat {seat} is answered twice in one call")
        return IllegalAction(f"match {match}, seat {seat}: action {action} is not legal")
