"""`torch.compile` as an option: if it fails, that is said once and the plain function goes on."""

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")


class Compiled(Generic[P, R]):
    """`function` through `torch.compile`, or plain once that has failed; `what` names it in the message."""

    def __init__(
        self, function: Callable[P, R], *, what: str, say: Callable[[str], None], dynamic: bool | None = None
    ) -> None:
        self._plain = function
        self._compiled: Callable[P, R] | None = torch.compile(function, dynamic=dynamic)
        self._what = what
        self._say = say

    @property
    def works(self) -> bool:
        """Whether it has not failed so far."""
        return self._compiled is not None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls `function`."""
        if self._compiled is not None:
            try:
                return self._compiled(*args, **kwargs)
            except Exception as error:  # torch.compile raises whatever its back ends raise
                self._say(f"torch.compile failed for {self._what} ({type(error).__name__}); going on without it")
                self._compiled = None
        return self._plain(*args, **kwargs)
