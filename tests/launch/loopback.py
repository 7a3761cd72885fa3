"""A whole SLURM on this machine: munged, slurmctld and two nodes (slurmd) on the loopback interface.

`make test-slurm` installs the programs and runs the tests that need it. Everything lives in one folder and ends with
`close`; a SLURM that is installed here otherwise is not touched.
"""

import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")
PATIENCE = 600.0
"""Seconds after which something that must happen is taken to have failed; nothing waits for longer than it has to."""
_PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"

_CONFIGURATION = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=15
SlurmctldPort={ports[0]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SwitchType=switch/none
MpiDefault=none
ReturnToService=1
KillWait=5
MessageTimeout=100
TCPTimeout=60
BatchStartTimeout=300
UnkillableStepTimeout=300
MinJobAge=3600
JobRequeue=1
SlurmdParameters=config_overrides
NodeName=node0 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=8000 Feature=fast
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=8000 Feature=fast
PartitionName=main Nodes=ALL Default=YES MaxTime=01:00:00 State=UP
PartitionName=debug Nodes=ALL MaxTime=00:15:00 State=UP
"""


def missing():
    """The programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]


class Loopback:
    """The cluster; `conf` is what SLURM_CONF must be for programs to find it."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))  # a socket's path must be short
        self.conf = self.folder / "slurm.conf"
        self._children = []
        for name in ("state", "spool-node0", "spool-node1"):
            (self.folder / name).mkdir()
        user, host = getpass.getuser(), socket.gethostname().partition(".")[0]
        self.conf.write_text(_CONFIGURATION.format(host=host, user=user, folder=self.folder, ports=_free_ports(3)))
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        try:
            self._start(
                *f"munged --foreground --force --key-file={key} --socket={self.folder}/munge.sock".split(),
                *f"--pid-file={self.folder}/munge.pid --log-file={self.folder}/munged.log".split(),
                f"--seed-file={self.folder}/munge.seed",
            )
            wait((self.folder / "munge.sock").exists, "munged")
            self._start("slurmctld", "-D", "-f", str(self.conf))
            wait(lambda: self._answers("scontrol", "ping", word=" UP"), "slurmctld")
            for node in ("node0", "node1"):
                self._start("slurmd", "-D", "-N", node, "-f", str(self.conf))
            wait(self._idle, "the nodes")
        except BaseException:
            self.close()
            raise

    def _start(self, *words):
        log = (self.folder / f"{words[0]}.out").open("ab")
        child = subprocess.Popen(
            words, stdout=log, stderr=log, env=self.environment(), start_new_session=True, stdin=subprocess.DEVNULL
        )
        self._children.append(child)

    def _idle(self):
        return self.program("sinfo", "-h", "-p", "main", "-t", "idle", "-o", "%D") == "2"

    def _answers(self, *words, word):
        return word in self.program(*words, check=False)

    def environment(self):
        return os.environ | {"SLURM_CONF": str(self.conf), "PATH": _PATH}

    def program(self, *words, check=True):
        """What one of SLURM's programs prints."""
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment(), timeout=PATIENCE)
        assert done.returncode == 0 or not check, f"{words}: {done.stderr}"
        return done.stdout.strip()

    @contextmanager
    def closed(self):
        """Within it no job begins: one that goes back into the queue is still there, however long one looks at it."""
        self.program("scontrol", "update", "partitionname=main", "state=down")
        yield
        self.program("scontrol", "update", "partitionname=main", "state=up")

    def clear(self):
        """Ends all jobs and brings all nodes back."""
        self.program("scancel", f"--user={getpass.getuser()}", check=False)
        wait(lambda: not self.program("squeue", "-h"), "jobs to end")
        self.program("scontrol", "update", "partitionname=main", "state=up")
        for node in ("node0", "node1"):
            self.program("scontrol", "update", f"nodename={node}", "state=resume", check=False)
        wait(self._idle, "the nodes")

    def close(self):
        """Ends everything, with what jobs left running."""
        if len(self._children) > 2:
            self.program("scancel", f"--user={getpass.getuser()}", check=False)
            time.sleep(2)
        for child in reversed(self._children):
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def wait(condition, what):
    """Waits until `condition()` holds; fails with `what` if it never does."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.5)
    raise AssertionError(f"waited {PATIENCE:.0f} s for {what}")


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
