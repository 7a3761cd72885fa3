"""The inference engine: holds policies on a device, keeps every seat's memory, answers decisions in one forward.

Memory lives in slabs indexed by slot (match * seats + seat), so that no client ever carries hidden state.
Weights are swapped between two forwards, never during one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sparring.core import Answers, Array, Decisions, GameSpec, InputError, drop_unlikely, masked_log_softmax, sample
from sparring.core.distribution import ILLEGAL
from sparring.inference.backend import BackendName, pick_step
from sparring.inference.device import Device, padded_rows, to_numpy
from sparring.inference.openvino import OpenVinoStep
from sparring.inference.quantised import Int8Step
from sparring.policy import Memory, Output

Say = Callable[[str], None]


@dataclass
class _Served:
    """One policy in the engine: its module, its compiled call, and the memory slab of every slot."""

    module: nn.Module
    call: Callable[..., Output]
    version: int
    memory: Memory
    pads: bool


@dataclass
class EngineCounters:
    """What the engine has done so far."""

    forwards: int = 0
    rows: int = 0
    forward_seconds: float = 0.0
    batch_sizes: dict[int, int] = field(default_factory=dict)

    @property
    def mean_batch(self) -> float:
        """Rows per forward pass."""
        return self.rows / self.forwards if self.forwards else 0.0


class InferenceEngine:
    """Answers batches of decisions for one or more named policies.

    Args:
        spec: the rows it will be asked about.
        slots: how many (match, seat) memories to keep.
        device: where and in which precision to run.
        seed: of the action draws.
        backend: what runs the forward pass; see `backend.pick_step`.
        compiled: whether to run policies through `torch.compile`; if that fails the engine says so once and
            goes on without it.
        say: receives the engine's own messages.
    """

    def __init__(
        self,
        spec: GameSpec,
        *,
        slots: int,
        device: Device,
        seed: int,
        backend: BackendName = "torch",
        compiled: bool = False,
        say: Say = print,
    ) -> None:
        if compiled and device.dtype == "int8":
            raise InputError("compile: torch.compile does not take policies in int8")
        self.spec = spec
        self.slots = slots
        self.device = device
        self.counters = EngineCounters()
        self._backend = backend
        self._compiled = compiled
        self._say = say
        self._rng = np.random.default_rng(seed)
        self._served: dict[str, _Served] = {}
        self._lock = Lock()

    @property
    def policies(self) -> dict[str, int]:
        """Names of the policies held, in the order they were added, with their versions."""
        return {name: served.version for name, served in self._served.items()}

    def add(self, name: str, policy: nn.Module, *, version: int = 0) -> None:
        """Takes over `policy` under `name`; the module belongs to the engine from now on."""
        module = policy.to(self.device.torch_device).eval()
        backend = "torch" if self._compiled else self._backend
        step = pick_step(backend, module, spec=self.spec, device=self.device, say=self._say)
        initial: Callable[[int], Memory] = module.initial_memory  # type: ignore[assignment]
        call = torch.compile(step, dynamic=False) if self._compiled else step
        with torch.no_grad():
            memory = initial(self.slots)
        pads = self._compiled or self.device.prefers_few_shapes
        with self._lock:
            self._served[name] = _Served(module, call, version, memory, pads)

    def swap(self, name: str, weights: Mapping[str, Tensor], *, version: int) -> None:
        """Gives the policy called `name` new weights; forwards before see the old ones, forwards after the new."""
        served = self._served[name]
        with self._lock:
            served.module.load_state_dict(weights)
            if isinstance(served.call, OpenVinoStep | Int8Step):
                served.call.refresh()
            served.version = version

    def weights(self, name: str) -> dict[str, Tensor]:
        """Copies of the weights that answer now."""
        return {key: tensor.detach().clone() for key, tensor in self._served[name].module.state_dict().items()}

    def answer(
        self,
        decisions: Decisions,
        policy: str | NDArray[np.int32],
        *,
        temperature: float = 1.0,
        policy_threshold: float = 0.0,
        keep_policy: bool = False,
    ) -> Answers:
        """Actions for k rows, drawn from the policy at `temperature` (0: the likeliest action).

        Actions less likely than `policy_threshold` are left out of the distribution.

        `policy` is one name for all rows, or `int32[k]` an index into `policies` for each; rows are grouped by
        policy and each group is one forward pass. Only at temperature 1 is `log_prob` the policy's own.
        """
        uniform = self._rng.random(len(decisions), np.float32)
        slots = decisions.slots(self.spec)
        if isinstance(policy, str):
            return self.answer_at(
                policy,
                decisions.observation,
                decisions.legal,
                first=decisions.first,
                slots=slots,
                uniform=uniform,
                temperature=temperature,
                policy_threshold=policy_threshold,
                keep_policy=keep_policy,
            )
        answers = Answers(
            action=np.empty(len(decisions), np.int32),
            log_prob=np.empty(len(decisions), np.float32),
            value=np.empty(len(decisions), np.float32),
            policy=np.empty(decisions.legal.shape, np.float32) if keep_policy else None,
        )
        names = list(self._served)
        for number in np.unique(policy):
            rows = np.flatnonzero(policy == number)
            part = self.answer_at(
                names[number],
                {name: array[rows] for name, array in decisions.observation.items()},
                decisions.legal[rows],
                first=decisions.first[rows],
                slots=slots[rows],
                uniform=uniform[rows],
                temperature=temperature,
                policy_threshold=policy_threshold,
                keep_policy=keep_policy,
            )
            pieces: list[tuple[Array | None, Array | None]] = [
                (answers.action, part.action),
                (answers.log_prob, part.log_prob),
                (answers.value, part.value),
                (answers.policy, part.policy),
            ]
            for whole, piece in pieces:
                if whole is not None:
                    whole[rows] = piece
        return answers

    def answer_at(
        self,
        policy: str,
        observation: Mapping[str, Array],
        legal: NDArray[np.bool_],
        *,
        first: NDArray[np.bool_],
        slots: NDArray[np.intp],
        uniform: NDArray[np.float32],
        temperature: float | NDArray[np.float32] = 1.0,
        policy_threshold: float = 0.0,
        keep_policy: bool = False,
    ) -> Answers:
        """`answer` where the caller says which memory slot each row has and brings its random draws.

        A policy server's clients number their matches alike, so the server maps them to slots of its own; and a
        client that brings `uniform: float32[k]` in [0, 1) gets the same actions however rows are batched.
        `temperature` may differ by row, `float32[k]`.
        """
        served = self._served[policy]
        rows = len(legal)
        with self._lock, torch.inference_mode(), self.device.autocast():
            start = perf_counter()
            slot_index = self.device.tensor(slots)
            memory: Memory = {}
            if served.memory:
                fresh = self.device.tensor(first)
                memory = {key: _reset(slab[slot_index], fresh) for key, slab in served.memory.items()}
            output = self._forward(policy, served, observation, legal, memory)
            logits = output.logits[:rows].float()
            mask = self.device.tensor(legal)
            if policy_threshold > 0:
                mask = mask & (
                    drop_unlikely(masked_log_softmax(logits, mask, xp=torch), policy_threshold, xp=torch) > ILLEGAL
                )
            log_probs, action = self._draw(logits, mask, self.device.tensor(uniform), temperature)
            for key, slab in served.memory.items():
                slab[slot_index] = output.memory[key][:rows].to(slab.dtype)
            answers = Answers(
                action=to_numpy(action).astype(np.int32),
                log_prob=to_numpy(log_probs.gather(-1, action.unsqueeze(-1)).squeeze(-1)),
                value=to_numpy(output.value[:rows]),
                policy=to_numpy(log_probs.exp()) if keep_policy else None,
            )
            self._count(rows, perf_counter() - start)
        return answers

    def has_memory(self, policy: str) -> bool:
        """Whether the policy carries anything from one decision to the next."""
        return bool(self._served[policy].memory)

    def evaluate(
        self, policy: str, observation: Mapping[str, Array], legal: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Log-probabilities `float32[k, actions]` and values `float32[k]` of positions outside any match.

        This is what search asks: no memory is read or written, and nothing is drawn.
        """
        served = self._served[policy]
        with self._lock, torch.inference_mode(), self.device.autocast():
            start = perf_counter()
            rows = len(legal)
            memory: Memory = {name: slab[:1].expand(rows, *slab.shape[1:]) * 0 for name, slab in served.memory.items()}
            output = self._forward(policy, served, observation, legal, memory)
            log_probs = masked_log_softmax(output.logits[:rows].float(), self.device.tensor(legal), xp=torch)
            result = to_numpy(log_probs), to_numpy(output.value[:rows])
            self._count(rows, perf_counter() - start)
        return result

    def memory(self, policy: str, decisions: Decisions) -> dict[str, Array]:
        """The memory each row's answer will start from, `dtype[k, ...]`: zeros where `first`."""
        served = self._served[policy]
        slots = torch.from_numpy(decisions.slots(self.spec)).to(self.device.torch_device)
        fresh = self.device.tensor(decisions.first)
        return {name: to_numpy(_reset(slab[slots], fresh)) for name, slab in served.memory.items()}

    def snapshot(self) -> dict[str, Array]:
        """Memory slabs of every policy (weights are saved by whoever owns them)."""
        return {
            f"{policy}/{name}": to_numpy(slab).copy()
            for policy, served in self._served.items()
            for name, slab in served.memory.items()
        }

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to the memory slabs of `snapshot`."""
        for policy, served in self._served.items():
            for name, slab in served.memory.items():
                slab.copy_(self.device.tensor(snapshot[f"{policy}/{name}"]))

    @property
    def rng(self) -> np.random.Generator:
        """The source of the action draws."""
        return self._rng

    def _draw(
        self, logits: Tensor, legal: Tensor, uniform: Tensor, temperature: float | NDArray[np.float32]
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities `[k, actions]` at the temperature, and an action `[k]` from each row."""
        if isinstance(temperature, np.ndarray):
            likeliest = self.device.tensor(temperature == 0)
            scale = self.device.tensor(np.where(temperature == 0, np.float32(1), temperature))
            log_probs = masked_log_softmax(logits / scale.unsqueeze(-1), legal, xp=torch)
            return log_probs, torch.where(likeliest, log_probs.argmax(-1), sample(log_probs, uniform, xp=torch))
        if temperature not in (0.0, 1.0):
            logits = logits / temperature
        log_probs = masked_log_softmax(logits, legal, xp=torch)
        return log_probs, log_probs.argmax(-1) if temperature == 0.0 else sample(log_probs, uniform, xp=torch)

    def _forward(
        self, name: str, served: _Served, observation: Mapping[str, Array], legal: NDArray[np.bool_], memory: Memory
    ) -> Output:
        if served.pads:
            rows = len(legal)
            observation = {key: _pad(array, padded_rows(rows)) for key, array in observation.items()}
            legal = _pad(legal, padded_rows(rows))
            memory = {
                key: torch.cat([state, state.new_zeros(len(legal) - rows, *state.shape[1:])])
                for key, state in memory.items()
            }
        inputs = self.device.tensors(observation), self.device.tensor(legal), memory
        if not self._compiled:
            return served.call(*inputs)
        try:
            return served.call(*inputs)
        except Exception as error:  # torch.compile raises whatever its back ends raise
            self._say(f"torch.compile failed for policy {name} ({type(error).__name__}); going on without it")
            self._compiled = False
            for other in self._served.values():
                other.call = other.module.step  # type: ignore[assignment]
                other.pads = self.device.prefers_few_shapes
            return served.call(*inputs)

    def _count(self, rows: int, seconds: float) -> None:
        counters = self.counters
        counters.forwards += 1
        counters.rows += rows
        counters.forward_seconds += seconds
        counters.batch_sizes[rows] = counters.batch_sizes.get(rows, 0) + 1


def _reset(memory: Tensor, fresh: Tensor) -> Tensor:
    return memory * (~fresh).view(-1, *[1] * (memory.dim() - 1))


def _pad(array: Array, rows: int) -> Array:
    padded = np.zeros((rows, *array.shape[1:]), array.dtype)
    padded[: len(array)] = array
    return padded
