"""Several processes that learn as one: they average gradients, and agree on whatever steers the learning.

`torchrun` starts the processes and numbers them; `joined` connects them. In a single process every function here
returns what it was given, so that a learner reads the same either way. Only numbers and JSON cross the wire.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous

from sparring.core import InputError, RunError

T = TypeVar("T")

_ANSWER_SECONDS = 10.0
"""When a process is missing, the others have this long to report that they are there."""

_store: Any = None  # torch does not export the type of stores


@contextmanager
def joined(timeout_minutes: float) -> Iterator[None]:
    """While entered, this process is connected with those that torchrun started; does nothing if there is only one.

    If the others wait for a process longer than `timeout_minutes`, the run ends with its name.
    """
    global _store
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or dist.is_initialized():
        yield
        return
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        backend = "cpu:gloo,cuda:nccl"
    store, own, count = next(rendezvous("env://"))
    _store = store
    wait = timedelta(minutes=timeout_minutes)
    dist.init_process_group(backend, store=store, rank=own, world_size=count, timeout=wait)
    try:
        yield
    finally:
        dist.destroy_process_group()
        _store = None


def rank() -> int:
    """Which of the processes this is; 0 writes, rates and speaks for all."""
    return dist.get_rank() if dist.is_initialized() else 0


def size() -> int:
    """How many processes there are."""
    return dist.get_world_size() if dist.is_initialized() else 1


def total(amount: float) -> float:
    """The sum over all processes."""
    return _reduced(amount, dist.ReduceOp.SUM)


def average(amount: float) -> float:
    """The mean over all processes."""
    return total(amount) / size()


def most(amount: float) -> float:
    """The maximum over all processes."""
    return _reduced(amount, dist.ReduceOp.MAX)


def fewest(amount: float) -> float:
    """The minimum over all processes."""
    return _reduced(amount, dist.ReduceOp.MIN)


def anyone(flag: bool) -> bool:
    """Whether `flag` is true in any process."""
    return most(float(flag)) > 0


def decided(flag: bool) -> bool:
    """The `flag` of rank 0, whose clock is the one that counts."""
    return total(float(flag and rank() == 0)) > 0


def share(rows: Tensor) -> float:
    """This process's number of `rows` (or sum of their weights) relative to the mean over processes: 1.0 if alone.

    Means over each process's rows, times this and averaged over processes, give the mean over all rows.
    """
    if size() == 1:
        return 1.0
    own = float(rows)
    return own / max(average(own), 1e-12)


def mean_and_deviation(values: Tensor) -> tuple[float, float]:
    """Mean and standard deviation of `values: float[r]` over all processes."""
    rows = total(len(values))
    mean = total(float(values.double().sum())) / rows
    variance = total(float(((values.double() - mean) ** 2).sum())) / rows
    return mean, variance**0.5


def anyones_fault(fault: str | None) -> str | None:
    """The first `fault` of any process, with its rank, or None; the same in all processes."""
    if size() == 1:
        return fault
    faults = gather(fault or "")
    return next((f"{text} of rank {number}" for number, text in enumerate(faults) if text), None)


def gather(text: str) -> list[str]:
    """The `text` of every process, in the order of ranks."""
    if size() == 1:
        return [text]
    own = torch.frombuffer(bytearray(text.encode() or b" "), dtype=torch.uint8)
    lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(size())]
    with _company():
        dist.all_gather(lengths, torch.tensor([len(text.encode())]))
        longest = max(1, *(int(length) for length in lengths))
        parts = [torch.zeros(longest, dtype=torch.uint8) for _ in range(size())]
        dist.all_gather(parts, nn.functional.pad(own, (0, longest - len(own))))
    return [part[: int(length)].numpy().tobytes().decode() for part, length in zip(parts, lengths, strict=True)]


def led(find: Callable[[], T]) -> T:
    """What `find` returns in rank 0, which is JSON-ready, in all processes; an `InputError` there is one in all."""
    if size() == 1:
        return find()
    told: dict[str, Any] = {}
    if rank() == 0:
        try:
            told = {"found": find()}
        except InputError as error:
            told = {"error": str(error)}
    told = json.loads(gather(json.dumps(told))[0])
    if "error" in told:
        raise InputError(told["error"])
    found: T = told["found"]
    return found


def every_part(tensors: Mapping[str, Tensor]) -> Iterator[Mapping[str, Tensor]]:
    """The rows `[k, ...]` of each process, in the order of ranks; all have the same names, types and shapes."""
    if size() == 1:
        yield tensors
        return
    rows = [int(text) for text in gather(str(len(next(iter(tensors.values())))))]
    for source, count in enumerate(rows):
        part = {
            name: tensor.contiguous() if source == rank() else tensor.new_empty((count, *tensor.shape[1:]))
            for name, tensor in tensors.items()
        }
        with _company():
            for tensor in part.values():
                dist.broadcast(_wire(tensor), source)
        yield part


def same_start(module: nn.Module) -> None:
    """Gives all processes the weights and statistics of rank 0."""
    if size() > 1:
        with _company():
            for tensor in module.state_dict().values():
                dist.broadcast(_wire(tensor), 0)


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replaces every gradient by its mean over all processes.

    A NaN in one process thereby reaches all: they find it in the same step, and stop together.
    """
    if size() == 1:
        return
    learned = [parameter for parameter in parameters if parameter.requires_grad]
    gradients = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in learned]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    with _company():
        dist.all_reduce(flat)
    flat /= size()
    for weight, mean in zip(learned, torch.split(flat, [weight.numel() for weight in learned]), strict=True):
        weight.grad = mean.view_as(weight)


def tell(key: str, text: str) -> None:
    """Leaves a note for the other processes."""
    if _store is not None:
        _store.set(f"sparring/{key}", text)


def wait_for(keys: list[str], *, seconds: float) -> bool:
    """Waits until every note is there; False if one is not after `seconds`."""
    if _store is None:
        return True
    try:
        _store.wait([f"sparring/{key}" for key in keys], timedelta(seconds=seconds))
    except RuntimeError:
        return False
    return True


def _reduced(amount: float, operation: "dist.ReduceOp.RedOpType") -> float:
    if size() == 1:
        return amount
    value = torch.tensor([amount], dtype=torch.float64)
    with _company():
        dist.all_reduce(value, op=operation)
    return float(value)


def _wire(tensor: Tensor) -> Tensor:
    """`tensor` in a type that every backend can send; shares its memory."""
    return tensor.view(torch.uint8) if tensor.dtype == torch.bool else tensor


@contextmanager
def _company() -> Iterator[None]:
    """Turns the failure of a collective call into a `RunError` that names the missing processes."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0] if str(error) else "no reason given"
        missing = _missing()
        who = f"rank {', '.join(map(str, missing))}" if missing else "another process"
        raise RunError(f"{who} of {size()} does not answer: it hangs or has ended ({reason})") from error


def _missing() -> list[int]:
    """The ranks that do not report that they are there, because they hang or are gone."""
    if _store is None:
        return []
    _store.set_timeout(timedelta(seconds=_ANSWER_SECONDS))
    try:
        _store.set(f"sparring/alive/{rank()}", "1")
        end = time.monotonic() + _ANSWER_SECONDS
        while True:
            missing = [number for number in range(size()) if not _store.check([f"sparring/alive/{number}"])]
            if not missing or time.monotonic() > end:
                return missing
            time.sleep(0.1)
    except RuntimeError:  # the process that keeps the notes hangs or is gone: rank 0, or the torchrun that started it
        return [] if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True" else [0]
