"""What a user asks of a cluster, checked before anything is written or sent.

Whatever ends up in a batch script is either of a fixed alphabet or quoted: no name can become a command.
"""

import re
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from sparring.core import InputError
from sparring.core.settings import convert

Count = Annotated[int, Meta(ge=1, le=100_000)]
Seeds = Annotated[int, Meta(ge=0, le=10_000)]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,99}")
_CONSTRAINT = re.compile(r"[A-Za-z0-9_\[(][A-Za-z0-9_.:=,&|*()\[\]-]{0,199}")
_MEMORY = re.compile(r"[1-9][0-9]{0,8}[MGT]")
_CONTAINER = re.compile(r"[A-Za-z0-9_/.][A-Za-z0-9_./:@+#-]{0,499}")
_PATH = re.compile(r"/[A-Za-z0-9_./@+=,~-]*")
_RULES = {
    "partition": (_NAME, "letters, digits and _.@+-"),
    "account": (_NAME, "letters, digits and _.@+-"),
    "qos": (_NAME, "letters, digits and _.@+-"),
    "constraint": (_CONSTRAINT, "names of features with &, |, *, brackets and no spaces"),
    "memory": (_MEMORY, "a number with M, G or T, such as 64G"),
    "container": (_CONTAINER, "the path of an image, or its address in a registry, without spaces"),
}


class JobRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job that trains `preset` in the folder `run`; what is None is chosen, or left to SLURM."""

    preset: str
    overrides: tuple[str, ...] = ()
    run: str
    """The run folder as an absolute path, or with `seeds` the folder of the run folders."""
    folder: str
    """Where the command runs, an absolute path: what presets and overrides name relative to it is found."""
    nodes: Count = 1
    gpus_per_node: Annotated[int, Meta(ge=0, le=1024)] = 0
    processes_per_node: Count = 1
    hours: Annotated[float, Meta(ge=0.01, le=24 * 365)] = 6.0
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    memory: str | None = None
    exclusive: bool = False
    constraint: str | None = None
    container: str | None = None
    seeds: Seeds = 0
    """So many runs in an array of jobs, with seeds from that of the configuration on; 0: one run."""
    first_seed: int = 0
    brief: bool = False
    """A test: the partition with the shortest queue is preferred to the default one."""

    @property
    def name(self) -> str:
        """What the queue shows."""
        return f"sparring-{re.sub(r'[^A-Za-z0-9_.-]', '-', Path(self.run).name)}"[:100]

    @property
    def memory_megabytes(self) -> int | None:
        """Of a node, if the user said how much."""
        if self.memory is None:
            return None
        return int(self.memory[:-1]) * {"M": 1, "G": 1024, "T": 1024**2}[self.memory[-1]]


def checked(**asked: object) -> JobRequest:
    """The request; raises `InputError` that names the first option whose value cannot be used."""
    request = convert(asked, JobRequest, where="launch")
    for name, (pattern, allowed) in _RULES.items():
        value = getattr(request, name)
        if value is not None and not pattern.fullmatch(value):
            raise InputError(f"--{name} {value!r}: allowed: {allowed}")
    for what, path in (("--run", request.run), ("the present folder", request.folder)):
        if not _PATH.fullmatch(path):
            raise InputError(f"{what} {path!r}: paths of a job are made of letters, digits and _./@+=,~-")
    for word in (request.preset, *request.overrides):
        if not word.isprintable():
            raise InputError(f"{word!r}: has a character that cannot be printed")
    return request
