"""The network player: seats a policy of an inference engine."""

from sparring.core import Answers, Array, Decisions
from sparring.inference.engine import InferenceEngine


class NetworkPlayer:
    """Answers decisions with one named policy of `engine`.

    `temperature` 1 plays the policy as trained, 0 its likeliest action; actions less likely than `policy_threshold`
    are never played. `keep_policy` returns the whole distribution with each answer, for learners that need it.
    """

    def __init__(
        self,
        engine: InferenceEngine,
        policy: str,
        *,
        temperature: float = 1.0,
        policy_threshold: float = 0.0,
        keep_policy: bool = False,
    ) -> None:
        self.engine = engine
        self.policy = policy
        self.temperature = temperature
        self.policy_threshold = policy_threshold
        self.keep_policy = keep_policy

    @property
    def version(self) -> int:
        """Version of the weights that answer now."""
        return self.engine.policies[self.policy]

    def act(self, decisions: Decisions) -> Answers:
        """One forward pass for all rows."""
        return self.engine.answer(
            decisions,
            self.policy,
            temperature=self.temperature,
            policy_threshold=self.policy_threshold,
            keep_policy=self.keep_policy,
        )

    def memory(self, decisions: Decisions) -> dict[str, Array]:
        """The memory each row's answer will start from."""
        return self.engine.memory(self.policy, decisions)
