"""The inference engine: holds policies on a device, keeps every seat's memory, answers decisions in one forward.

Memory lives in slabs indexed by slot (match * seats + seat), so that no client ever carries hidden state.
Weights are swapped between two forwards, never during one. Numbers that are not finite never enter a slab or leave as
an answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sparring.core import (
    Answers,
    Array,
    Decisions,
    GameSpec,
    InputError,
    RunError,
    drop_unlikely,
    masked_log_softmax,
    sample,
)
from sparring.core.devices import BackendName
from sparring.core.distribution import ILLEGAL
from sparring.core.rows import Rows, flatten
from sparring.core.stages import Spent, clocks
from sparring.inference.backend import pick_step
from sparring.inference.device import Device, padded_rows, to_numpy
from sparring.inference.stack import Stack, pays, stacked
from sparring.inference.step import CompiledStep, Step, TorchStep
from sparring.policy import Memory, Output

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Asked(Rows):
    """k rows for the engine, each with its memory slot and its random draw."""

    slot: NDArray[np.integer]
    """`int[k]` where the row's memory lies, each slot at most once."""
    first: NDArray[np.bool_]
    """`bool[k]` whether that memory is reset first."""
    uniform: NDArray[np.float32]
    """`float32[k]` in [0, 1): the draw that picks the action."""
    legal: NDArray[np.bool_]
    """`bool[k, actions]`, at least one true in each row."""
    observation: Mapping[str, Array]
    """Field name to `dtype[k, *shape]`, as the game's spec says."""


@dataclass
class _Held:
    """One policy in the engine: its module, what runs it, and the memory of every slot."""

    module: nn.Module
    step: Step
    version: int
    memory: Memory


@dataclass
class EngineCounters:
    """What the engine has done so far."""

    forwards: int = 0
    rows: int = 0
    forward_seconds: float = 0.0
    forward_cpu_seconds: float = 0.0
    """Of the threads that asked."""

    @property
    def forward(self) -> Spent:
        """The time of forward passes by both clocks."""
        return Spent(self.forward_seconds, self.forward_cpu_seconds)

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
        compiled: whether to run policies through `torch.compile`, where that works.
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
        self._held: dict[str, _Held] = {}
        self._stacks: dict[tuple[str, ...], Stack | None] = {}
        self._lock = Lock()

    @property
    def policies(self) -> dict[str, int]:
        """Names of the policies held, in the order they were added, with their versions."""
        return {name: held.version for name, held in self._held.items()}

    def add(self, name: str, policy: nn.Module, *, version: int = 0, beside: str | None = None) -> None:
        """Takes over `policy` under `name`; the module belongs to the engine from now on.

        `beside` is a policy that never plays a slot at the same time: if their memories have the same shapes, the two
        share their slabs.
        """
        _check_weights(name, policy.state_dict())
        module = policy.to(self.device.torch_device).eval()
        step: Step
        if self._compiled:
            step = CompiledStep(module, self.device, name=name, say=self._say)
        else:
            step = pick_step(self._backend, module, spec=self.spec, device=self.device, say=self._say)
        initial: Callable[[int], Memory] = module.initial_memory  # type: ignore[assignment]
        with torch.no_grad(), self.device.autocast():
            one = initial(1)
            shared = {} if beside is None else self._held[beside].memory
            alike = beside is not None and _shapes(shared) == _shapes(one)
            if not alike:
                self._check_room(name, one)
            memory = shared if alike else initial(self.slots)
        with self._lock:
            self._held[name] = _Held(module, step, version, memory)
            self._unstack(name)

    def drop(self, name: str) -> None:
        """Frees the policy called `name`."""
        with self._lock:
            del self._held[name]
            self._unstack(name)

    def _check_room(self, name: str, one: Memory) -> None:
        """Raises `InputError` if the memory of all slots, each as large as `one`, does not fit on the device."""
        wanted, free = self.slots * sum(state.nbytes for state in one.values()), self.device.free_memory()
        if free is not None and wanted > free:
            raise InputError(
                f"policy {name}: the memory of {self.slots} seats takes {wanted / 2**30:.1f} GiB, and "
                f"{self.device.kind} has {free / 2**30:.1f} GiB left: lower `matches` or the network's `window`"
            )

    def swap(self, name: str, weights: Mapping[str, Tensor], *, version: int) -> None:
        """Gives the policy called `name` new weights; forwards before see the old ones, forwards after the new."""
        _check_weights(name, weights)
        held = self._held[name]
        with self._lock:
            held.module.load_state_dict(weights)
            held.step.refresh()
            held.version = version
            self._unstack(name)

    def weights(self, name: str) -> dict[str, Tensor]:
        """Copies of the present weights."""
        return {key: tensor.detach().clone() for key, tensor in self._held[name].module.state_dict().items()}

    def answer(
        self,
        decisions: Decisions,
        policy: str,
        *,
        temperature: float = 1.0,
        policy_threshold: float = 0.0,
        keep_policy: bool = False,
    ) -> Answers:
        """Actions for k rows, drawn from the policy at `temperature` (0: the likeliest action).

        Actions less likely than `policy_threshold` are left out of the distribution. Only at temperature 1 is
        `log_prob` the policy's own. Raises `RunError` if the network answers with numbers that are not finite.
        """
        return self.answer_asked(
            self._asked(decisions),
            policy,
            temperature=temperature,
            policy_threshold=policy_threshold,
            keep_policy=keep_policy,
        )

    def answer_each(self, decisions: Decisions, policies: Sequence[str], which: NDArray[np.integer]) -> Answers:
        """Actions for k rows, row r drawn from `policies[which[r]]`; only `action` and `log_prob` are answered.

        Policies whose networks are alike run in one forward pass where that is faster (`stack.pays`); the others run
        one after another. Each row's draw is the same either way.
        """
        asked = self._asked(decisions)
        rows_of = np.bincount(which, minlength=len(policies))
        stack = self._stack(tuple(policies)) if pays(rows_of) else None
        if stack is not None:
            held = self._held[policies[0]]
            stacked = _Held(held.module, stack.step(which, rows_of), held.version, held.memory)
            return self._answer(asked, stacked, "/".join(policies))
        action, log_prob = np.empty(len(asked), np.int32), np.empty(len(asked), np.float32)
        for number in np.flatnonzero(rows_of).tolist():
            rows = np.flatnonzero(which == number)
            answers = self.answer_asked(asked.take(rows), policies[number])
            assert answers.log_prob is not None
            action[rows], log_prob[rows] = answers.action, answers.log_prob
        return Answers(action=action, log_prob=log_prob)

    def answer_asked(
        self,
        asked: Asked,
        policy: str,
        *,
        temperature: float | NDArray[np.float32] = 1.0,
        policy_threshold: float = 0.0,
        keep_policy: bool = False,
    ) -> Answers:
        """`answer` with memory slots and random draws chosen by the caller.

        Clients of a policy server may use the same match numbers, so the server maps them to slots of its own; and a
        client that brings its own draws gets the same actions however rows are batched. `temperature` may differ by
        row, `float32[k]`. If this raises an error, no memory has changed.
        """
        return self._answer(
            asked,
            self._held[policy],
            policy,
            temperature=temperature,
            policy_threshold=policy_threshold,
            keep_policy=keep_policy,
        )

    def _asked(self, decisions: Decisions) -> Asked:
        return Asked(
            slot=decisions.slots(self.spec),
            first=decisions.first,
            uniform=self._rng.random(len(decisions), np.float32),
            legal=decisions.legal,
            observation=decisions.observation,
        )

    def _answer(
        self,
        asked: Asked,
        held: _Held,
        policy: str,
        *,
        temperature: float | NDArray[np.float32] = 1.0,
        policy_threshold: float = 0.0,
        keep_policy: bool = False,
    ) -> Answers:
        rows = len(asked)
        with self._lock, torch.inference_mode(), self.device.autocast():
            start = clocks()
            slot = self.device.tensor(asked.slot)
            memory: Memory = {}
            if held.memory:
                fresh = self.device.tensor(asked.first)
                memory = {key: _reset(slab[slot], fresh) for key, slab in held.memory.items()}
            output = self._forward(held, asked.observation, asked.legal, memory)
            logits = output.logits[:rows].float()
            legal = self.device.tensor(asked.legal)
            if policy_threshold > 0:
                likely = drop_unlikely(masked_log_softmax(logits, legal, xp=torch), policy_threshold, xp=torch)
                legal = legal & (likely > ILLEGAL)
            log_probs, action = self._draw(logits, legal, self.device.tensor(asked.uniform), temperature)
            log_prob = to_numpy(log_probs.gather(-1, action.unsqueeze(-1)).squeeze(-1))
            value = to_numpy(output.value[:rows])
            # a row that is not finite "draws" an action of probability NaN, or one that is not legal
            _check_rows(policy, (log_prob > 0.5 * ILLEGAL) & np.isfinite(value), asked.observation)
            for key, slab in held.memory.items():
                slab[slot] = output.memory[key][:rows].to(slab.dtype)
            answers = Answers(
                action=to_numpy(action).astype(np.int32),
                log_prob=log_prob,
                value=value,
                policy=to_numpy(log_probs.exp()) if keep_policy else None,
            )
            self._count(rows, clocks() - start)
        return answers

    def has_memory(self, policy: str) -> bool:
        """Whether the policy carries anything from one decision to the next."""
        return bool(self._held[policy].memory)

    def evaluate(
        self, policy: str, observation: Mapping[str, Array], legal: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Log-probabilities `float32[k, actions]` and values `float32[k]` of positions outside any match.

        This is what search asks: no memory is read or written, and nothing is drawn.
        """
        held = self._held[policy]
        with self._lock, torch.inference_mode(), self.device.autocast():
            start = clocks()
            rows = len(legal)
            memory: Memory = {name: slab.new_zeros(rows, *slab.shape[1:]) for name, slab in held.memory.items()}
            output = self._forward(held, observation, legal, memory)
            log_probs = to_numpy(masked_log_softmax(output.logits[:rows].float(), self.device.tensor(legal), xp=torch))
            values = to_numpy(output.value[:rows])
            _check_rows(policy, np.isfinite(values) & ~np.isnan(log_probs.sum(axis=1)), observation)
            self._count(rows, clocks() - start)
        return log_probs, values

    def memory(self, policy: str, decisions: Decisions) -> dict[str, Array]:
        """The memory each row's answer will start from, `dtype[k, ...]`: zeros where `first`."""
        slots = self.device.tensor(decisions.slots(self.spec))
        fresh = self.device.tensor(decisions.first)
        return {name: to_numpy(_reset(slab[slots], fresh)) for name, slab in self._held[policy].memory.items()}

    def snapshot(self) -> dict[str, Array]:
        """Memory slabs of every policy (weights are saved by their owners)."""
        return flatten(
            {
                policy: {name: to_numpy(slab).copy() for name, slab in held.memory.items()}
                for policy, held in self._owners().items()
            }
        )

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to the memory slabs of `snapshot`."""
        slabs = flatten({policy: held.memory for policy, held in self._owners().items()})
        for name, slab in slabs.items():
            slab.copy_(self.device.tensor(snapshot[name]))

    @property
    def rng(self) -> np.random.Generator:
        """The source of the action draws."""
        return self._rng

    def _owners(self) -> dict[str, _Held]:
        """The first policy with each set of slabs."""
        first: dict[int, str] = {}
        for name, held in self._held.items():
            first.setdefault(id(held.memory), name)
        return {name: self._held[name] for name in first.values()}

    def _unstack(self, name: str) -> None:
        self._stacks = {policies: stack for policies, stack in self._stacks.items() if name not in policies}

    def _stack(self, policies: tuple[str, ...]) -> Stack | None:
        """The policies as one network; None if their networks differ, or torch cannot stack them."""
        if policies not in self._stacks:
            held = [self._held[name] for name in policies]
            alike = all(type(one.step) is TorchStep and one.memory is held[0].memory for one in held)
            made = stacked([one.module for one in held], self.spec, self.device) if alike else None
            self._stacks = {policies: made}
        return self._stacks[policies]

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
        self, held: _Held, observation: Mapping[str, Array], legal: NDArray[np.bool_], memory: Memory
    ) -> Output:
        """The step's output, with padding rows at the end if the step wants few shapes."""
        if held.step.few_shapes:
            missing = padded_rows(len(legal)) - len(legal)
            observation = {key: _pad(array, missing) for key, array in observation.items()}
            legal = _pad(legal, missing)
            memory = {
                key: torch.cat([state, state.new_zeros(missing, *state.shape[1:])]) for key, state in memory.items()
            }
        return held.step(self.device.tensors(observation), self.device.tensor(legal), memory)

    def _count(self, rows: int, spent: Spent) -> None:
        counters = self.counters
        counters.forwards += 1
        counters.rows += rows
        counters.forward_seconds += spent.wall
        counters.forward_cpu_seconds += spent.cpu


def _shapes(memory: Memory) -> dict[str, torch.Size]:
    return {name: slab.shape[1:] for name, slab in memory.items()}


def _reset(memory: Tensor, fresh: Tensor) -> Tensor:
    """`memory`, with zeros where `fresh: bool[k]`, whatever was there."""
    return memory.masked_fill(fresh.view(-1, *[1] * (memory.dim() - 1)), 0)


def _pad(array: Array, rows: int) -> Array:
    return np.concatenate([array, np.zeros((rows, *array.shape[1:]), array.dtype)])


def _check_rows(policy: str, good: NDArray[np.bool_], observation: Mapping[str, Array]) -> None:
    """Raises `RunError` unless every row is good; names the observation field that caused it, if one did."""
    if good.all():
        return
    bad = np.flatnonzero(~good)
    shown = ", ".join(map(str, bad[:8])) + (", ..." if len(bad) > 8 else "")
    broken = [
        f"observation.{name} is"
        for name, rows in observation.items()
        if np.issubdtype(rows.dtype, np.floating) and not np.isfinite(rows).all()
    ]
    what = broken[0] if broken else "its network answers with numbers that are"
    raise RunError(f"policy {policy}: {what} not finite in {len(bad)} of {len(good)} rows ({shown})")


def _check_weights(policy: str, weights: Mapping[str, Tensor]) -> None:
    for name, tensor in weights.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise InputError(f"policy {policy}: weights {name} are not finite")
