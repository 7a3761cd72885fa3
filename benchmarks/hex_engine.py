"""How fast the Hex arena steps, beside OpenSpiel's Python loop.

Both sides produce the mover's observation and the legal mask at every step and play random legal actions on
11x11. Choosing the actions is not counted. For OpenSpiel (`pyspiel`, one state at a time, as its Python users
loop) counted are the observation tensor, the legal mask, applying the action and starting anew.

Both run on one thread, in short rounds in turns, of which the best counts. Seconds are that thread's CPU seconds,
so that other work on the machine does not decide who was faster.
"""

import time
from typing import Any

import numpy as np
import pyspiel
from numba import njit

import measure
from sparring.games.hex import HexArena, HexSettings


@njit(cache=True)
def pick(legal: Any, turn: int, actions: Any) -> None:
    """A cheap pseudo-random legal action for each row."""
    count = legal.shape[1]
    for row in range(len(legal)):
        action = (row * 7919 + turn * 104729) % count
        while not legal[row, action]:
            action = (action + 1) % count
        actions[row] = action


class Ours:
    def __init__(self, size: int, matches: int) -> None:
        self.arena = HexArena(HexSettings(size=size), matches=matches, seed=0)
        self.actions = np.zeros(matches, np.int32)
        self.turn = 0

    def steps_per_second(self, waits: int) -> float:
        spent = 0.0
        for _ in range(waits):
            began = time.thread_time()
            decisions, _ = self.arena.wait()
            spent += time.thread_time() - began
            self.turn += 1
            pick(decisions.legal, self.turn, self.actions)
            began = time.thread_time()
            self.arena.act(decisions, self.actions)
            spent += time.thread_time() - began
        return waits * self.arena.matches / spent


class OpenSpiel:
    def __init__(self, size: int) -> None:
        self.game = pyspiel.load_game("hex", {"board_size": size})
        self.state = self.game.new_initial_state()
        self.rng = np.random.default_rng(0)

    def steps_per_second(self, steps: int) -> float:
        spent = 0.0
        for _ in range(steps):
            began = time.thread_time()
            self.state.observation_tensor()
            mask = self.state.legal_actions_mask()
            spent += time.thread_time() - began
            legal = np.flatnonzero(mask)
            action = int(legal[self.rng.integers(len(legal))])
            began = time.thread_time()
            self.state.apply_action(action)
            if self.state.is_terminal():
                self.state = self.game.new_initial_state()
            spent += time.thread_time() - began
        return steps / spent


def main() -> None:
    parser = measure.parser(__doc__)
    parser.add_argument("--size", type=int, default=11)
    parser.add_argument("--matches", type=int, default=1024)
    options = measure.parse(parser)
    rounds = 100 if options.quick else 600
    ours, peer = Ours(options.size, options.matches), OpenSpiel(options.size)
    ours.steps_per_second(1000)  # compiles, and lets the matches drift apart
    peer.steps_per_second(200)
    sides = {"ours": lambda: ours.steps_per_second(20), "peer": lambda: peer.steps_per_second(300)}
    best, best_peer = (max(rates) for rates in measure.in_turns(sides, rounds).values())
    measure.figure(
        f"hex arena steps, {options.size}x{options.size}, {options.matches} matches, one core",
        best,
        "steps per CPU-second",
        peer="OpenSpiel from Python",
        reference=best_peer,
        ratio=best / best_peer,
    )


if __name__ == "__main__":
    main()
