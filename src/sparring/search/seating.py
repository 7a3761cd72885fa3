"""Makes a search player from a policy of an inference engine and the forward model of its game."""

from sparring.core import ForwardModel, GameSpec, InputError, load_game
from sparring.inference import InferenceEngine
from sparring.search.evaluator import Evaluator, Symmetric
from sparring.search.player import PlaySettings, SearchPlayer, SearchSettings


def forward_model(spec: GameSpec) -> ForwardModel:
    """The forward model of the game that `spec` describes; raises `InputError` if it has none."""
    model = load_game(spec.game).model(spec)
    if model is None:
        raise InputError(f"{spec.game} has no forward model, so nothing can be searched in it")
    return model


def search_player(
    engine: InferenceEngine,
    policy: str,
    search: SearchSettings,
    *,
    play: PlaySettings,
    seed: int,
    symmetry: bool = False,
    cache: int = 1 << 16,
) -> SearchPlayer:
    """A player that searches with the policy called `policy`, for the arena whose slots `engine` was made for."""
    spec = engine.spec
    model = forward_model(spec)
    if symmetry and not isinstance(model, Symmetric):
        raise InputError(f"symmetry = true: {spec.game} has no mirror images; only false is allowed")
    evaluator = Evaluator(
        model,
        lambda observation, legal: engine.evaluate(policy, observation, legal),
        actions=spec.actions,
        cache=cache,
        symmetry=symmetry,
        version=lambda: engine.policies[policy],
    )
    matches = engine.slots // spec.seats
    return SearchPlayer(evaluator, search, play=play, matches=matches, seats=spec.seats, seed=seed)
