"""How strong a Hex checkpoint is: matches against OpenSpiel's MCTSBot on random openings, each played both ways.

python benchmarks/hex_strength.py hex-7x7 --matches 200 --simulations 64 --rival 10000
"""

import numpy as np
import pyspiel
import torch

import measure
from sparring.core import Answers, Decisions, GameSpec, wilson_interval
from sparring.core.settings import convert
from sparring.games.hex.game import GAME
from sparring.inference import Device, InferenceEngine
from sparring.league import Entrant
from sparring.rollout import Collector
from sparring.search import GumbelSettings, PlaySettings, PuctSettings
from sparring.search.seating import search_player


class MctsPlayer:
    """OpenSpiel's C++ MCTS with random playouts, one bot for all rows."""

    def __init__(self, size: int, simulations: int, seed: int) -> None:
        self._size = size
        self._game = pyspiel.load_game(f"hex(board_size={size})")
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        self._bot = pyspiel.MCTSBot(self._game, evaluator, 2.0, simulations, 1000, True, seed, False)

    def act(self, decisions: Decisions) -> Answers:
        action = np.empty(len(decisions), np.int32)
        for row, seat in enumerate(decisions.seat.tolist()):
            mine, others = decisions.observation["planes"][row]
            black, white = (mine, others) if seat == 0 else (others.T, mine.T)
            state = self._game.new_initial_state()
            stones = [np.flatnonzero(black.ravel()).tolist(), np.flatnonzero(white.ravel()).tolist()]
            for number in range(len(stones[0]) + len(stones[1])):
                state.apply_action(stones[number % 2][number // 2])
            cell = self._bot.step(state)
            action[row] = cell if seat == 0 else cell % self._size * self._size + cell // self._size
        return Answers(action=action)


def play_both_ways(first, second, settings, matches: int, seed: int) -> np.ndarray:
    """`float32[matches]` the first player's outcomes: half of the openings' matches in each seat, openings equal."""
    outcomes = []
    for seats in ([0, 1], [1, 0]):
        arena = GAME.arena(settings, matches=matches // 2, seed=seed)
        collector = Collector(
            arena,
            {"first": first, "second": second},
            lambda serials, seats=seats: np.tile(np.int32(seats), (len(serials), 1)),
        )
        _, outcome = collector.play(matches // 2)
        outcomes.append(outcome[:, seats.index(0)])
        done = np.concatenate(outcomes)
        measure.say(f"seat {seats.index(0)}: won {(outcomes[-1] > 0).mean():.1%}; so far {(done > 0).mean():.1%}")
    return np.concatenate(outcomes)


def main() -> None:
    parser = measure.parser(__doc__, quick="twenty matches against 100 simulations")
    parser.add_argument("checkpoint", nargs="?", default="hex-7x7")
    parser.add_argument("--matches", type=int, default=200)
    parser.add_argument("--simulations", type=int, default=64)
    parser.add_argument("--rival", type=int, default=10_000, help="simulations of OpenSpiel's MCTSBot")
    parser.add_argument("--opening", type=int, default=2, help="random stones before the players move")
    parser.add_argument("--size", type=int, default=None)
    parser.add_argument("--search", choices=["gumbel", "puct"], default="gumbel")
    parser.add_argument("--seed", type=int, default=0)
    options = measure.parse(parser)
    if options.quick:
        options.matches, options.rival = 20, 100
    torch.set_num_threads(1)
    checkpoint = Entrant.parse(options.checkpoint).checkpoint
    assert checkpoint is not None, "not a checkpoint"
    size = options.size or int(checkpoint.spec.settings["size"])
    settings = convert({"size": size, "opening": options.opening}, GAME.settings, where="hex")
    spec: GameSpec = GAME.spec(settings)
    engine = InferenceEngine(spec, slots=options.matches, device=Device.pick("cpu"), seed=0)
    engine.add("main", checkpoint.policy(spec), version=checkpoint.version)
    kind = GumbelSettings if options.search == "gumbel" else PuctSettings
    ours = search_player(
        engine, "main", kind(simulations=options.simulations), play=PlaySettings(), seed=options.seed, symmetry=True
    )
    rival = MctsPlayer(size, options.rival, options.seed)
    outcome = play_both_ways(ours, rival, settings, options.matches, options.seed)
    rate = float((outcome > 0).mean())
    low, high = wilson_interval(rate, len(outcome))
    measure.figure(
        f"hex {size}x{size} {options.search} {options.simulations} against MCTSBot({options.rival})",
        rate,
        "win rate",
        peer="open_spiel MCTSBot",
        matches=len(outcome),
        interval=[low, high],
        opening=options.opening,
        version=checkpoint.version,
    )


if __name__ == "__main__":
    main()
