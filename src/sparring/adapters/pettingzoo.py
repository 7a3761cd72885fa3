"""Any game as a PettingZoo AEC environment: every seat is an agent."""

from contextlib import nullcontext
from typing import Any

import numpy as np

from sparring.adapters.match import UNDRAWN, SingleMatch, nothing_seen, observation_row
from sparring.adapters.spaces import observation_space
from sparring.core import Game, InputError, check_argument, lending, load_game, optional
from sparring.core.settings import NonNegativeInt, convert

with optional("sparring.adapters", extra="adapters"):
    import gymnasium
    from pettingzoo import AECEnv


_HINT = "see observation['action_mask']"
_AFTER_RESET = ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos", "_cumulative_rewards")
"""What PettingZoo's programs look for, and what a match must have begun for."""


class MatchAec(AECEnv[str, dict[str, Any], int]):  # type: ignore[misc]  # PettingZoo is untyped
    """Agents `seat_0`, `seat_1`, ... Where several seats act at once they are asked one after the other, none
    seeing the other's choice, and the game goes on when all have answered.

    `game` is an installed game by name, or a `Game` of your own that is not installed.

    Observations are `{"observation": ..., "action_mask": int8[actions]}`.
    """

    metadata = {"name": "sparring", "render_modes": [], "is_parallelizable": False}  # noqa: RUF012 (PettingZoo's own form)

    agent_selection: str

    def __init__(self, game: str | Game, *, seed: int = 0, **settings: Any) -> None:
        super().__init__()
        if "settings" in settings:
            raise InputError("settings: give the game's options by name, such as MatchAec('hex', size=5)")
        check_argument("seed", seed, NonNegativeInt)
        with nullcontext(game) if isinstance(game, str) else lending(game) as name:
            plugin = load_game(name)
        self._match = SingleMatch(plugin, convert(settings, plugin.settings, where=name), seed=seed)
        spec = self._match.spec
        self.metadata = {**self.metadata, "name": f"sparring_{name}"}
        self.render_mode = None
        self._seen: dict[str, dict[str, Any]] = {}
        self._turn = 0
        self.possible_agents = [f"seat_{seat}" for seat in range(spec.seats)]
        mask = gymnasium.spaces.Box(0, 1, (spec.actions,), np.int8)
        seen = gymnasium.spaces.Dict({"observation": observation_space(spec), "action_mask": mask})
        self.observation_spaces = dict.fromkeys(self.possible_agents, seen)
        self.action_spaces: dict[str, gymnasium.spaces.Space] = {
            agent: gymnasium.spaces.Discrete(spec.actions) for agent in self.possible_agents
        }

    def __repr__(self) -> str:
        return f"<MatchAec: {self._match.spec}, agents {', '.join(self.possible_agents)}>"

    def __getattr__(self, name: str) -> Any:
        """What is missing: an attribute that there is only after `reset`, or one that there never is."""
        if name in _AFTER_RESET:
            raise AttributeError(f"{name}: no match has begun: call reset() first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def observation_space(self, agent: str) -> gymnasium.spaces.Space:
        """The same object every time."""
        return self.observation_spaces[self._known(agent)]

    def action_space(self, agent: str) -> gymnasium.spaces.Space:
        """The same object every time."""
        return self.action_spaces[self._known(agent)]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """A new match."""
        self._match.start(seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        empty = nothing_seen(self._match.spec)
        nothing = np.zeros(self._match.spec.actions, np.int8)
        self._seen = {agent: {"observation": empty, "action_mask": nothing} for agent in self.agents}
        self._take_rows()

    def observe(self, agent: str) -> dict[str, Any]:
        """What the agent saw last; its mask is zero while it need not act."""
        if not self._seen:
            raise InputError("no match has begun: call reset() first")
        return self._seen[self._known(agent)]

    def step(self, action: int | None) -> None:
        """The selected agent's action; the match moves on when every waiting seat has answered.

        Once the match has ended each agent is stepped once more, with None, as PettingZoo wants it.
        """
        if self._seen and self.agents and self.terminations[self.agent_selection]:
            if action is not None:
                raise InputError(f"action = {action!r}: the match has ended; allowed: None, or reset()")
            self._was_dead_step(None)
            return
        action = self._match.action(self._turn, action, _HINT)
        agent: str = self.agent_selection
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._actions[self._turn] = action
        self._turn += 1
        if self._turn < len(self._order):
            self.agent_selection = self._order[self._turn]
            return
        self._silence()
        ended = self._match.act(self._actions)
        if ended is None:
            self._take_rows()
        else:
            for seat, name in enumerate(self.possible_agents):
                self.rewards[name] = float(ended.reward[seat])
                self.terminations[name] = True
            self.agent_selection = self.agents[0]
        self._accumulate_rewards()

    def render(self) -> None:
        """Raises `InputError`: nothing is drawn here."""
        raise InputError(f"render(): {UNDRAWN}")

    def close(self) -> None:
        """Frees the arena."""
        self._match.close()

    def _known(self, agent: str) -> str:
        """`agent`, if there is one of that name."""
        if agent not in self.observation_spaces:
            raise InputError(f"agent = {agent!r}: allowed: {', '.join(self.possible_agents)}")
        return agent

    def _take_rows(self) -> None:
        """Shows the waiting rows to their agents and selects the first."""
        waiting = self._match.waiting
        self._order = [self.possible_agents[seat] for seat in waiting.seat]
        self._actions = np.zeros(len(waiting), np.int32)
        self._turn = 0
        for row, agent in enumerate(self._order):
            mask = waiting.legal[row].astype(np.int8)
            self._seen[agent] = {"observation": observation_row(waiting, row), "action_mask": mask}
            self.rewards[agent] = float(waiting.reward[row])
        self.agent_selection = self._order[0]

    def _silence(self) -> None:
        """Empties the masks of the agents that have just acted."""
        for agent in self._order:
            seen = self._seen[agent]
            self._seen[agent] = {**seen, "action_mask": np.zeros_like(seen["action_mask"])}
