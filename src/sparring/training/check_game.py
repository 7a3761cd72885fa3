"""`check_game`: tells a game author, in one line, the first thing that is wrong with a game.

It asks for every part as training would, from the cheapest to the dearest: members, settings, spec, arena, players,
forward model, network, presets.
"""

import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sparring.core import (
    Attending,
    Closing,
    Decisions,
    Game,
    GameFault,
    GameSpec,
    InputError,
    Player,
    RandomPlayer,
    built_in,
    check_arena,
    check_argument,
    lending,
)
from sparring.core.documented import documented
from sparring.core.game import game_fault
from sparring.core.settings import Count, convert
from sparring.policy.interface import Output, parameter_count, policy_for
from sparring.policy.network import build_network, shape_fault
from sparring.training.config import load_config

_MATCHES = 8
_TIMES, _SEQUENCES = 3, 4
"""Rows that the network is shown: so many, one after the other, of so many seats."""


@documented
@dataclass(frozen=True)
class GameReport:
    """What a clean check saw."""

    matches: int
    """Matches that ended."""
    decisions: int
    """Rows that were answered."""
    players: tuple[str, ...]
    """Built-in players that were tried."""
    presets: tuple[str, ...]
    """Presets that load."""
    weights: int
    """Of the network as it is by default."""


def check_game(game: Game, *, matches: int = 100) -> GameReport:
    """Checks `game` with its settings as they are by default; raises `GameFault` at the first thing that is wrong.

    The arena plays until `matches` matches have ended. The game need not be installed.
    """
    check_argument("matches", matches, Count)
    wrong = game_fault(game)
    _require(wrong is None, f"the game {wrong}")
    folder = Path(str(getattr(sys.modules.get(type(game).__module__), "__file__", "")))
    with _part("settings", folder):
        settings = game.settings()
    with _part("network", folder):
        _ = game.network()
    with _part("spec", folder):
        spec = game.spec(settings)
        _check_spec(spec, game)
    with _part("arena", folder):
        made = game.arena(settings, matches=_MATCHES, seed=0)
        _require(callable(getattr(made, "close", None)), f"arena() gave {made!r:.60}, which is no Arena")
    with _part("arena", folder), closing(made) as arena:
        played = check_arena(arena, matches=matches)
        _require(arena.spec == spec, "its spec is not the one that game.spec(settings) gives")
        _require(arena.matches == _MATCHES, f"it has {arena.matches} matches, but was asked for {_MATCHES}")
        _require(played.failed == 0, f"{played.failed} of {played.matches} matches failed")
    names = tuple(name for name in game.players if name != "human")
    for name in names:
        with _part(f"player {name!r}", folder):
            _check_player(built_in(game, spec, name, seed=0), game, settings)
    rows = _rows(game, settings)
    with _part("fits", folder):
        why = game.fits(spec, spec)
        _require(why is None, f"weights must fit what they were trained for, and it says {why!r}")
    with _part("model", folder):
        _check_model(game.model(spec), rows)
    with _part("policy", folder):
        weights = _check_policy(game, spec, rows)
    presets = tuple(sorted(game.presets.glob("*.yaml")))
    with lending(game):
        for path in presets:
            with _part(f"presets: {path.name}", folder):
                _require(
                    load_config(str(path), [])[0].game == game.name, f"it is a preset of another game: {game.name}"
                )
    return GameReport(played.matches, played.decisions, names, tuple(path.stem for path in presets), weights)


@contextmanager
def _part(name: str, module: Path) -> Iterator[None]:
    """Says of anything that goes wrong in the block that it did in this part, and in which line of the game's files."""
    try:
        yield
    except (GameFault, InputError) as error:
        raise GameFault(f"{name}: {error}") from error
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        theirs = [at for at in frames if Path(at.filename).parent == module.parent]
        place = f" ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else ""
        raise GameFault(f"{name}: {type(error).__name__}: {error}{place}") from error


def _check_spec(spec: GameSpec, game: Game) -> None:
    """A spec that can be saved with weights and gives the same again when it is read."""
    _require(isinstance(spec, GameSpec), f"it must be a GameSpec, got {spec!r:.60}")
    _require(spec.game == game.name, f"its game is {spec.game!r}, and the game's name {game.name!r}")
    _require(
        GameSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec,
        "it is another one when it was saved and read again",
    )
    again = game.spec(convert(spec.settings, game.settings, where="its settings"))
    _require(
        again == spec, "made from the settings in it, it is another one: some that the arrays depend on are missing"
    )


def _check_player(player: Player, game: Game, settings: Any) -> None:
    """Plays both seats until each match has ended once, if that does not take too long."""
    with closing(game.arena(settings, matches=_MATCHES, seed=1)) as arena:
        if isinstance(player, Attending):
            player.attend(arena)
        ended = 0
        for _ in range(1000):
            decisions, results = arena.wait()
            ended += len(results)
            if ended >= _MATCHES:
                break
            if len(decisions):
                arena.act(decisions, _legal_actions(player, decisions))
    if isinstance(player, Closing):
        player.close()


def _legal_actions(player: Player, decisions: Decisions) -> Any:
    rows = len(decisions)
    action = getattr(player.act(decisions), "action", None)
    if not isinstance(action, np.ndarray) or action.shape != (rows,) or action.dtype != np.int32:
        given = f"{action.dtype}{list(action.shape)}" if isinstance(action, np.ndarray) else repr(action)[:60]
        raise GameFault(f"act must give Answers with int32[{rows}] actions, got {given}")
    inside = (action >= 0) & (action < decisions.legal.shape[1])
    wrong = np.flatnonzero(~(inside & decisions.legal[np.arange(rows), np.where(inside, action, 0)]))
    if len(wrong):
        raise GameFault(f"action {int(action[wrong[0]])} is not legal in its row")
    return action


def _rows(game: Game, settings: Any) -> Decisions:
    """Enough rows for the network, from matches by random moves."""
    parts, player = list[Decisions](), RandomPlayer(0)
    with closing(game.arena(settings, matches=_MATCHES, seed=2)) as arena:
        while sum(map(len, parts)) < _TIMES * _SEQUENCES:
            decisions, _ = arena.wait()
            parts.append(decisions.take(np.arange(len(decisions))))
            arena.act(decisions, player.act(decisions).action)
    return Decisions.join(parts).take(np.arange(_TIMES * _SEQUENCES))


def _check_model(model: Any, rows: Decisions) -> None:
    """A forward model that sees in a row what the arena shows."""
    if model is None:
        return
    calls = ("states", "legal", "apply", "outcome", "encode", "keys")
    missing = [f"`{name}`" for name in calls if not callable(getattr(model, name, None))]
    _require(not missing, f"{type(model).__name__} has no {', '.join(missing)}; a game without a model returns None")
    states = model.states(rows.observation, rows.legal)
    _require(np.array_equal(model.legal(states), rows.legal), "legal is not what the arena says of the same position")
    shown = model.encode(states)
    for name, seen in rows.observation.items():
        _require(name in shown and np.array_equal(shown[name], seen), f"encode gives another `{name}` than the arena")


def _check_policy(game: Game, spec: GameSpec, rows: Decisions) -> int:
    """Shapes of the network's outputs, and that `step` and `unroll` are one function; its number of weights."""
    policy = build_network({}, game, spec)
    playing = policy_for(policy.eval(), spec)
    observation = {name: _sequences(array) for name, array in rows.observation.items()}
    legal = _sequences(rows.legal)
    with torch.no_grad():
        memory, steps = playing.initial_memory(_SEQUENCES), []
        for time in range(_TIMES):
            output = playing.step({name: part[time] for name, part in observation.items()}, legal[time], memory)
            _check_output("step", output, (_SEQUENCES,), spec.actions)
            shapes, before = ({name: tuple(part.shape) for name, part in m.items()} for m in (output.memory, memory))
            _require(shapes == before, f"step turns memory of shapes {before} into {shapes}")
            memory = output.memory
            steps.append(output)
        whole = playing.unroll(observation, legal, playing.initial_memory(_SEQUENCES))
    _check_output("unroll", whole, (_TIMES, _SEQUENCES), spec.actions)
    for name in ("logits", "value"):
        one, many = torch.stack([getattr(output, name) for output in steps]), getattr(whole, name)
        _require(
            torch.allclose(one, many, rtol=1e-3, atol=1e-4), f"step and unroll give different {name} for the same rows"
        )
    return parameter_count(policy)


def _sequences(array: np.ndarray) -> Tensor:
    """`[T, B, ...]` of rows `[T * B, ...]`."""
    return torch.as_tensor(array).reshape(_TIMES, _SEQUENCES, *array.shape[1:])


def _check_output(call: str, output: Output, rows: tuple[int, ...], actions: int) -> None:
    wrong = shape_fault(call, output, rows, actions)
    _require(wrong is None, str(wrong))
    for name in ("logits", "value"):
        _require(bool(torch.isfinite(getattr(output, name)).all()), f"{call} gives {name} that are not finite")


def _require(kept: bool, rule: str) -> None:
    if not kept:
        raise GameFault(rule)
