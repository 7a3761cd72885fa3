"""Jobs: sent, found again by number or run folder, looked up and cancelled.

`job/` in a run folder holds the script, the log and `job.json`, the number of the last job that was sent for it. What
SLURM knows comes from `scontrol` while it remembers the job, then from `sacct`, where SLURM keeps accounts.
"""

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from sparring.core import InputError
from sparring.core.files import lock_folder, write_file
from sparring.launch.programs import NoAnswer, call, fields
from sparring.launch.request import JobRequest, Seeds
from sparring.training.run import JOB

_NUMBER = re.compile(r"([0-9]{1,12})(?:_([0-9]{1,7}))?")
_WAITING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD")
_ACTIVE = ("RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING")
_ASK_SECONDS = 5.0


class Kept(msgspec.Struct, frozen=True):
    """What the folder of a job says of it."""

    job: Annotated[int, Meta(ge=1)]
    seeds: Seeds = 0
    first_seed: int = 0
    signal: str = "USR2"


@dataclass(frozen=True)
class Record:
    """What SLURM says of one job, or of one task of an array."""

    job: str
    """`12`, or `12_3` for a task of an array; `12_[0-5]` for those that have not begun."""
    state: str
    reason: str = ""
    restarts: int = 0
    exit_code: str = ""
    run_time: str = ""
    time_limit: str = ""
    nodes: str = ""

    @property
    def waits(self) -> bool:
        """Whether it is still to begin, or to begin again."""
        return self.state in _WAITING

    @property
    def over(self) -> bool:
        """Whether it has ended for good."""
        return not self.waits and self.state not in _ACTIVE


@dataclass(frozen=True)
class Job:
    """One job, or one task of an array, with the folder that was kept of it, if it is one of ours."""

    number: str
    folder: Path | None
    kept: Kept | None

    @property
    def run(self) -> Path | None:
        """Its run folder; None for a whole array, and for jobs that are not ours."""
        if self.folder is None or self.kept is None or (self.kept.seeds and self.task is None):
            return None
        seed = f"seed-{self.kept.first_seed + int(self.task)}" if self.kept.seeds and self.task is not None else "."
        return self.folder.parent / seed

    @property
    def task(self) -> str | None:
        """Its number in the array."""
        return self.number.partition("_")[2] or None

    @property
    def log(self) -> Path:
        """Where it writes; raises `InputError` if that is not known, or if there are several."""
        return self._file("log", ".txt")

    @property
    def note(self) -> Path:
        """Where a wish to end is left for the script."""
        return self._file("stop", "")

    def _file(self, name: str, ending: str) -> Path:
        if self.folder is None or self.kept is None:
            raise InputError(f"job {self.number}: its run folder is not known here; name the folder instead")
        if not self.kept.seeds:
            return self.folder / f"{name}{ending}"
        if self.task is None:
            raise InputError(f"job {self.number} is an array: name one of its tasks, such as {self.number}_0")
        return self.folder / f"{name}-{self.task}{ending}"

    def tasks(self) -> list["Job"]:
        """The tasks of an array, or the job itself."""
        if self.kept is None or not self.kept.seeds or self.task is not None:
            return [self]
        return [Job(f"{self.number}_{task}", self.folder, self.kept) for task in range(self.kept.seeds)]


def submit(request: JobRequest, script: str, *, signal: str = "USR2") -> Job:
    """Keeps the script in the run folder and sends it; raises `NoAnswer` with SLURM's words if it is refused."""
    folder = Path(request.run) / JOB
    handle = lock_folder(folder, busy=f"{request.run}: another job is being sent for it")
    try:
        return _submit(request, script, folder, signal)
    finally:
        os.close(handle)


def _submit(request: JobRequest, script: str, folder: Path, signal: str) -> Job:
    before = find_kept(folder)
    if before is not None:
        busy = [record.job for record in records(str(before.job)) if not record.over]
        if busy:
            raise InputError(f"{request.run}: job {busy[0]} is still there; see sparring launch status {before.job}")
    write_file(folder / "job.sh", script.encode(), mode=0o777)
    for note in folder.glob("stop*"):
        note.unlink()
    said = call("sbatch", "--parsable", str(folder / "job.sh"))
    number = said.strip().partition(";")[0]
    if not number.isdigit():
        raise NoAnswer(f"sbatch: answered {said.strip()!r}, which is no job's number")
    kept = Kept(int(number), request.seeds, request.first_seed, signal)
    write_file(folder / "job.json", msgspec.json.encode(kept))
    return Job(number, folder, kept)


def find_job(word: str) -> Job:
    """The job that `word` means: its number, `12` or `12_3` for a task of an array, or its run folder."""
    found = _NUMBER.fullmatch(word)
    if found is None:
        for folder in (Path(word), Path(word).parent):
            kept = find_kept(folder / JOB)
            if kept is None or (folder != Path(word) and not kept.seeds):
                continue
            seed = re.fullmatch(r"seed-(-?[0-9]{1,12})", Path(word).name) if folder != Path(word) else None
            task = "" if seed is None else f"_{int(seed[1]) - kept.first_seed}"
            return Job(f"{kept.job}{task}", (folder / JOB).absolute(), kept)
        raise InputError(f"{word!r}: neither the number of a job nor a run folder that one was sent for")
    places = [path.parent for path in Path("runs").glob(f"*/{JOB}/job.json")]
    try:
        said = call("scontrol", "show", "job", "--oneliner", word)
        places.insert(0, Path(fields(said).get("Command", "")).parent)
    except NoAnswer:  # SLURM has forgotten it
        pass
    for folder in places:
        try:
            kept = find_kept(folder)
        except InputError:  # of another job, for all that is known
            continue
        if kept is not None and kept.job == int(found[1]):
            return Job(word, folder.absolute(), kept)
    return Job(word, None, None)


def find_kept(folder: Path) -> Kept | None:
    """What `folder` says of its job; None if nothing. Raises `InputError` if it is damaged."""
    try:
        return msgspec.json.decode((folder / "job.json").read_bytes(), type=Kept)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except msgspec.MsgspecError as error:
        raise InputError(f"{folder / 'job.json'}: damaged: {error}") from None


def records(number: str) -> list[Record]:
    """What SLURM knows of a job, one record a task; nothing if it has forgotten it."""
    try:
        return parse_jobs(call("scontrol", "show", "job", "--oneliner", number))
    except NoAnswer as gone:
        if "Invalid job id" not in str(gone):
            raise
    try:
        shown = "JobID,State,ExitCode,Reason,Elapsed,Timelimit,NodeList"
        return parse_accounted(
            call("sacct", "--allocations", "--noheader", "--parsable2", f"--jobs={number}", f"--format={shown}")
        )
    except NoAnswer:  # no accounts are kept
        return []


def parse_jobs(text: str) -> list[Record]:
    """From `scontrol show job --oneliner`."""
    found = []
    for line in text.splitlines():
        job = fields(line)
        if "JobState" not in job:
            continue
        number = job["JobId"]
        if "ArrayTaskId" in job:
            task = job["ArrayTaskId"]
            number = f"{job['ArrayJobId']}_{task if task.isdigit() else f'[{task}]'}"
        restarts = job.get("Restarts", "0")
        found.append(
            Record(
                number,
                job["JobState"],
                job.get("Reason", ""),
                int(restarts) if restarts.isdigit() else 0,
                job.get("ExitCode", ""),
                job.get("RunTime", ""),
                job.get("TimeLimit", ""),
                job.get("NodeList", "").replace("(null)", ""),
            )
        )
    return found


def parse_accounted(text: str) -> list[Record]:
    """From `sacct --format=JobID,State,ExitCode,Reason,Elapsed,Timelimit,NodeList`."""
    found = []
    for line in text.splitlines():
        job, state, code, reason, elapsed, limit, nodes = line.split("|")
        word, _, by = state.partition(" ")
        found.append(Record(job, word, by or reason, 0, code, elapsed, limit, nodes.replace("None assigned", "")))
    return found


def cancel(job: Job, *, now: bool, say: Callable[[str], None]) -> None:
    """Ends a job: what has not begun at once, what runs when its update is saved, or `now`, at once too.

    Waits until it is over. The signal is repeated, as one that comes before training has begun is not heard.
    """
    if now or job.kept is None:
        _scancel(job.number)
        return
    for task in job.tasks():
        write_file(task.note, b"")
    _scancel(job.number, "--state=PENDING")
    told = False
    while active := [record for record in records(job.number) if not record.over]:
        if not told:
            told = True
            say(f"job {job.number} ends when its update is saved; Ctrl-C leaves it to that, --now does not wait")
        for record in active:
            if record.state == "RUNNING":
                _scancel(record.job, f"--signal={job.kept.signal}")
        time.sleep(_ASK_SECONDS)


def _scancel(number: str, *words: str) -> None:
    """Calls `scancel`; that a job has just ended is no failure."""
    try:
        call("scancel", *words, number)
    except NoAnswer:
        known = records(number)
        if not known or any(record.waits or record.state == "RUNNING" for record in known):
            raise
