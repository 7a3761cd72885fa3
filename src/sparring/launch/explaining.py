"""Why a job stopped, in one plain sentence: from what SLURM says, what the log says and what the run folder says."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sparring.launch.jobs import Job, Record, records
from sparring.launch.logs import Attempt, attempts
from sparring.training.run import Ending, read_ending

_NODE = re.compile(r"DUE TO NODE FAILURE|Node failure on (?P<name>\S+)|node_fail", re.IGNORECASE)
_MEMORY = re.compile(r"oom[_-]kill|out[ -]of[ -]memory|exceeded (job )?memory limit", re.IGNORECASE)
_LIMIT = re.compile(r"DUE TO TIME LIMIT")
_OURS = re.compile(r"^(?:\[\w+\]:)?sparring: (?P<text>.+)$")
_DIED = re.compile(r"failed \(exitcode: -(?P<signal>\d+)\) local_rank: (?P<rank>\d+)")
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in ')
_RAISED = re.compile(r"^(?P<text>(?:[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|NotFinite|Failed)): .*)$")
_QUEUE = {
    "Resources": "for nodes to become free",
    "Priority": "behind jobs of higher priority",
    "BeginTime": "for its time to begin; a job that was put back waits a while",
    "Dependency": "for another job",
    "JobHeldUser": "because it is held; scontrol release lets it go",
    "JobHeldAdmin": "because an administrator holds it",
    "ReqNodeNotAvail": "for nodes that are down or reserved",
    "Nodes_required_for_job_are_DOWN": "for nodes that are down or reserved",
    "NodeDown": "for a node that is down",
    "AssocGrpCPUMinutesLimit": "because the account has used up its time",
    "PartitionTimeLimit": "in vain: it asks for more time than the partition allows",
    "PartitionNodeLimit": "in vain: it asks for more nodes than the partition allows",
    "PartitionDown": "for its partition to open",
    "QOSMaxJobsPerUserLimit": "for another job of yours to end: its QOS allows no more at a time",
    "MaxRequeueLimit": "because it was put back too often; scontrol release lets it go",
}
_TOLD = 3
"""How many attempts before the last are told."""
_BAD_STATE = {
    "BOOT_FAIL": "a node did not start",
    "DEADLINE": "SLURM ended it at its deadline",
    "PREEMPTED": "SLURM took its nodes for a job of higher priority",
    "REVOKED": "another cluster took it over",
}


@dataclass(frozen=True)
class Evidence:
    """All that is known of a job."""

    job: str
    record: Record | None = None
    """None: SLURM has forgotten it."""
    attempts: Sequence[Attempt] = ()
    ending: Ending | None = None
    """Of the run folder."""
    cancelled: bool = False
    """Whether `sparring launch cancel` was asked for it."""
    saved: int | None = None
    """The last update that is saved."""
    log: str = "the log"


def explain_job(job: Job) -> list[str]:
    """A sentence for each task of `job`."""
    return [explain(evidence) for evidence in _gather(job)]


def explain(evidence: Evidence) -> str:
    """The sentence: what became of the job, why, and what was saved; earlier attempts in a second clause."""
    record, about = evidence.record, f"job {evidence.job}"
    before = [_cause(attempt, evidence.log) for attempt in evidence.attempts[:-1][-_TOLD:]]
    if len(evidence.attempts) - 1 > _TOLD:
        before.insert(0, f"{len(evidence.attempts) - 1 - _TOLD} other attempts")
    last = evidence.attempts[-1] if evidence.attempts else Attempt((), 1)
    ending = evidence.ending if record is None or record.over else None
    cause = _cause(last, evidence.log, ending)
    earlier = f"; before that: {', then '.join(before)}" if before else ""
    kept = f"; saved up to update {evidence.saved}" if evidence.saved is not None else "; nothing was saved"
    if record is not None and record.waits:
        why = _QUEUE.get(record.reason.partition(",")[0], f"({record.reason or 'no reason given'})")
        if not evidence.attempts:
            return f"{about} waits {why}."
        return f"{about} waits {why}; it stopped because {', then '.join([*before, cause])}{kept}."
    if record is not None and not record.over:
        return f"{about} runs, for {record.run_time} of {record.time_limit} on {record.nodes}{earlier}{kept}."
    if ending is not None and ending.how == "finished" and (record is None or record.state == "COMPLETED"):
        again = _died(last)
        restarted = f", after {again[0]} and all were started again" if again else ""
        return f"{about} finished: trained to the end, {ending.update} updates{restarted}{earlier}."
    return f"{about} stopped because {_verdict(record, cause, evidence)}{earlier}{kept}."


def _verdict(record: Record | None, cause: str, evidence: Evidence) -> str:
    """Why the last attempt was the last."""
    state = "" if record is None else record.state
    if evidence.cancelled and state != "FAILED":
        return "it was cancelled with sparring launch cancel"
    if state == "CANCELLED":
        by = "" if record is None or not record.reason.startswith("by ") else f" {record.reason}"
        return f"it was cancelled with scancel{by}"
    if state == "TIMEOUT":
        limit = "" if record is None else f" of {record.time_limit}"
        return f"SLURM ended it at its time limit{limit}, before an update had ended and could be saved"
    if state == "OUT_OF_MEMORY":
        return "a node ran out of memory: ask for more with --memory, or lower matches or batch sizes"
    if state == "NODE_FAIL":
        nodes = "" if record is None or not record.nodes else f" of {record.nodes}"
        return f"a node{nodes} failed"
    if state in _BAD_STATE:
        return _BAD_STATE[state]
    code = "" if record is None or record.exit_code in ("", "0:0") else f" (exit code {record.exit_code.split(':')[0]})"
    return cause + (code if cause == _UNKNOWN else "")


_UNKNOWN = "it ended without a word: its node failed, or it was killed by force"


def _cause(attempt: Attempt, log: str, ending: Ending | None = None) -> str:
    """Why an attempt ended, by what it said itself."""
    ending = ending or _said_ending(attempt)
    for number, line in _numbered(attempt):
        if _NODE.search(line):
            return "a node failed"
        if _LIMIT.search(line):
            return "SLURM ended it at its time limit, before an update had ended and could be saved"
        if _MEMORY.search(line) and not _OURS.match(line):
            return f"a node ran out of memory (line {number} of {log})"
    if ending is not None and ending.how == "stopped":
        why = {
            "time limit": "its time limit was near",
            "SIGTERM": "it was told to end (SIGTERM)",
        }.get(ending.reason, f"it was told to save and stop ({ending.reason})")
        return f"{why}, after update {ending.update}"
    error, died = _error(attempt), _died(attempt)
    if died is not None and (error is None or died[1] < error[1]):
        return f"{died[0]}, more often than it was started again"
    if error is not None:
        text, number = error
        return f"of an error: {text} (line {number} of {log})"
    if ending is not None and ending.how == "failed":
        return f"of an error: {ending.reason}"
    if ending is not None and ending.how == "finished":
        return "it had trained to the end"
    return _UNKNOWN


def _error(attempt: Attempt) -> tuple[str, int] | None:
    """Our own line of an error, or else the end of a traceback that is not torchrun's, each with its number."""
    for number, line in _numbered(attempt):
        ours = _OURS.match(line)
        if ours:
            return ours["text"], number
    place = ""
    for number, line in _numbered(attempt):
        frame, raised = _FRAME.match(line), _RAISED.match(line)
        if frame:
            place = f"{Path(frame['file']).name}:{frame['line']}"
        elif raised and "ChildFailedError" not in line:
            return f"{raised['text']}{f' at {place}' if place else ''}", number
    return None


def _died(attempt: Attempt) -> tuple[str, int] | None:
    """Which process a signal ended first, and the number of the line that says so; None if none."""
    for number, line in _numbered(attempt):
        found = _DIED.search(line)
        if found and found["signal"] != "15":
            hint = " (as when a machine runs out of memory)" if found["signal"] == "9" else ""
            return f"a process (local rank {found['rank']}) was killed by signal {found['signal']}{hint}", number
    return None


def _said_ending(attempt: Attempt) -> Ending | None:
    """What ending.json said, which the script shows at the end of each attempt."""
    for line in reversed(attempt.lines):
        if line.startswith('{"how"'):
            try:
                return msgspec.json.decode(line, type=Ending)
            except msgspec.MsgspecError:
                continue
    return None


def _numbered(attempt: Attempt) -> Iterator[tuple[int, str]]:
    return enumerate(attempt.lines, attempt.first)


def _gather(job: Job) -> Iterator[Evidence]:
    known = records(job.number)
    for task in job.tasks():
        record = next((one for one in known if one.job == task.number), None)
        record = record or next((one for one in known if "[" in one.job), None)  # those that have not begun
        if task.run is None:
            yield Evidence(task.number, record)
            continue
        saved = [int(path.name) for path in task.run.glob("resume/[0-9]*") if path.name.isdigit()]
        yield Evidence(
            task.number,
            record,
            attempts(task.log),
            read_ending(task.run),
            cancelled=task.note.exists(),
            saved=max(saved, default=None),
            log=str(task.log),
        )
