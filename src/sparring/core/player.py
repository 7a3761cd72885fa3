"""The player protocol, and the simplest player there is."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sparring.core.arena import Arena
from sparring.core.arguments import check_argument
from sparring.core.decisions import Answers, Decisions
from sparring.core.distribution import draw
from sparring.core.rows import Array
from sparring.core.settings import NonNegativeInt


class Player(Protocol):
    """Anything that answers decisions with actions: random, heuristic, network, search, remote, human."""

    def act(self, decisions: Decisions) -> Answers:
        """One answer per row. The player keeps whatever memory it needs per (match, seat)."""
        ...


def is_player(thing: object) -> bool:
    """Whether an object, or those of a class, can play: they have `act`, and are no networks of `sparring.policy`."""
    return callable(getattr(thing, "act", None)) and not callable(getattr(thing, "initial_memory", None))


@runtime_checkable
class Attending(Protocol):
    """A player that follows the matches themselves, besides its rows: one that tells a person what happens."""

    def attend(self, arena: Arena) -> None:
        """Called once, before the first row; raises `InputError` if it cannot play in `arena`."""
        ...


@runtime_checkable
class Closing(Protocol):
    """A player that holds something outside this process: a connection, a program."""

    def close(self) -> None:
        """Lets it go; may be called twice."""
        ...


@dataclass(frozen=True)
class Forfeit:
    """Why a player has lost a match that is still in play, and when, by `time.monotonic`."""

    reason: str
    time: float


@runtime_checkable
class Forfeiting(Protocol):
    """A player that may fail to answer, as other people's programs do, and then forfeits the match.

    It goes on answering with legal actions so that the arena can end the match, but the forfeit is what counts.
    """

    def forfeited(self, match: int) -> Forfeit | None:
        """The forfeit, if any, of the last match in slot `match`; called before the next one there asks for actions."""
        ...


class SeededPlayer:
    """Base of players whose only state is a random generator; it is saved, so that a resumed run draws the same."""

    def __init__(self, seed: int) -> None:
        check_argument("seed", seed, NonNegativeInt)
        self._rng = np.random.default_rng(seed)

    def snapshot(self) -> dict[str, Array]:
        """The generator's state."""
        return {"rng": np.frombuffer(json.dumps(self._rng.bit_generator.state).encode(), np.uint8)}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to `snapshot`."""
        self._rng.bit_generator.state = json.loads(snapshot["rng"].tobytes())


class RandomPlayer(SeededPlayer):
    """Plays each legal action with the same probability."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._shares: NDArray[np.float32] = np.zeros(1, np.float32)
        """`float32[actions + 1]` by number of legal actions: the probability of each."""

    def act(self, decisions: Decisions) -> Answers:
        """Uniform over the legal mask."""
        legal = decisions.legal
        if len(self._shares) <= legal.shape[1]:
            self._shares = _shares(legal.shape[1])
        probabilities = legal * self._shares[legal.sum(axis=1)][:, None]
        action = draw(probabilities, self._rng.random(len(decisions), np.float32), xp=np)
        return Answers(action=action.astype(np.int32))


def _shares(actions: int) -> NDArray[np.float32]:
    """`float32[actions + 1]`: what the masked softmax gives each of n equal actions, to the last bit."""
    legal = np.arange(1, actions + 1, dtype=np.float32)
    return np.concatenate((np.zeros(1, np.float32), np.exp(-np.log(legal))))
