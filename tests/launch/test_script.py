"""The batch script: what it asks for, that nothing in it can become a command, and what it does when training ends."""

import json
import os
import subprocess

import pytest

from sparring.core import InputError
from sparring.launch.placing import Placement
from sparring.launch.request import checked
from sparring.launch.script import batch_script, lead_seconds

PLACE = Placement("main", "lab", "normal", 8, 4000, ())
STUBS = {
    "srun": 'printf "%s\\n" "$@" > "$OUT/words"; eval "$THEN"',
    "scontrol": 'echo "$@" >> "$OUT/scontrol"; echo "NodeName=node0 Arch=x NodeAddr=10.0.0.7 NodeHostName=n"',
}
"""Programs in SLURM's place: the first notes what training would be started with."""


def asked(tmp_path, **options):
    given = {"preset": "kuhn-ppo", "run": str(tmp_path / "run"), "folder": str(tmp_path), "nodes": 2}
    return checked(**given | options)


def script(tmp_path, placement=PLACE, **options):
    return batch_script(asked(tmp_path, **options), placement, python="/opt/venv/bin/python")


def directives(text):
    return [line.removeprefix("#SBATCH --") for line in text.splitlines() if line.startswith("#SBATCH")]


@pytest.fixture
def cluster(tmp_path):
    """Runs a script with stubs in the place of srun and scontrol, as SLURM would run it on the first node."""
    for name, body in STUBS.items():
        stub = tmp_path / "bin" / name
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(f"#!/bin/bash\n{body}\n")
        stub.chmod(0o755)
    (tmp_path / "run" / "job").mkdir(parents=True)

    def run(text, *, then="", **variables):
        path = tmp_path / "job.sh"
        path.write_text(text)
        given = {"SLURM_JOB_ID": "41", "SLURM_JOB_NUM_NODES": "2", "SLURM_CPUS_PER_TASK": "8", "OUT": str(tmp_path)}
        given |= {"SLURMD_NODENAME": "node0", "SLURM_JOB_NODELIST": "node[0-1]", "THEN": then}
        environment = os.environ | given | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"} | variables
        return subprocess.run(["bash", str(path)], env=environment, capture_output=True, text=True, cwd=tmp_path)

    return run


def ending(tmp_path, how, reason="time limit", run="run"):
    """A command that leaves what training leaves."""
    text = json.dumps({"how": how, "reason": reason, "update": 7, "time": 0.0})
    return f"mkdir -p {tmp_path / run}; echo '{text}' > {tmp_path / run / 'ending.json'}"


def asked_of_scontrol(tmp_path):
    return [line for line in (tmp_path / "scontrol").read_text().splitlines() if not line.startswith("show node")]


def test_what_is_asked_of_slurm_stands_at_the_top(tmp_path):
    assert directives(script(tmp_path, gpus_per_node=4, processes_per_node=4, hours=6.0, constraint="a100&nvlink")) == [
        "job-name=sparring-run",
        "partition=main",
        "account=lab",
        "qos=normal",
        "nodes=2",
        "ntasks-per-node=1",
        "cpus-per-task=8",
        "gres=gpu:4",
        "mem=4000M",
        "constraint='a100&nvlink'",
        "time=6:00:00",
        "signal=USR2@180",
        "requeue",
        f"chdir={tmp_path}",
        f"output={tmp_path}/run/job/log.txt",
        "open-mode=append",
    ]


def test_what_is_not_known_is_not_asked_for(tmp_path):
    lines = directives(script(tmp_path, Placement("main", None, None, 8, None, ())))
    assert not [line for line in lines if line.startswith(("account", "qos", "mem", "gres", "constraint", "array"))]
    whole = directives(script(tmp_path, Placement("main", None, None, 8, 0, ()), exclusive=True))
    assert {"exclusive", "mem=0"} <= set(whole)


def test_slurm_announces_a_time_limit_early_enough_to_save():
    assert [lead_seconds(hours) for hours in (1 / 60, 0.25, 6, 100)] == [6, 90, 180, 180]


def test_training_is_started_once_a_node_with_the_first_nodes_address(tmp_path, cluster):
    done = cluster(script(tmp_path, hours=2.5), then=ending(tmp_path, "finished"))
    assert done.returncode == 0, done.stderr
    words = (tmp_path / "words").read_text().splitlines()
    torchrun = words[words.index("/opt/venv/bin/python") :]
    expected = "/opt/venv/bin/python -m torch.distributed.run --nnodes=2 --nproc-per-node=1 --max-restarts=3"
    expected += " --rdzv-backend=c10d --rdzv-id=41-0 --rdzv-endpoint=10.0.0.7:20041 -m --"
    expected += f" sparring train kuhn-ppo --time-limit-hours 2.5 --run {tmp_path}/run"
    assert torchrun == expected.split()
    assert "== sparring: job 41, attempt 1, on node[0-1], in" in done.stdout


HOSTILE = [
    "$(touch sprung)",
    "`touch sprung`",
    "'; touch sprung; '",
    '"; touch sprung; "',
    "a\\",
    "$HOME",
    "*",
    "x y",
    "#",
]


@pytest.mark.parametrize("word", HOSTILE)
def test_an_override_reaches_training_as_it_was_typed(tmp_path, cluster, word):
    text = script(tmp_path, overrides=[f"key={word}"], preset=f"{word}.yaml")
    done = cluster(text, then=ending(tmp_path, "finished"))
    assert done.returncode == 0, done.stderr
    words = (tmp_path / "words").read_text().splitlines()
    assert {f"key={word}", f"{word}.yaml"} <= set(words)
    assert not list(tmp_path.rglob("sprung"))


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("partition", ["main;ls", "-x", "a b", "main\n#SBATCH --uid=0", "", "$(id)"]),
        ("account", ["a'b", "--help", "a\tb"]),
        ("qos", ["a,b", '"']),
        ("constraint", ["a b", "a'", "a;b", "-x", "$(id)", "a\nb", "`id`"]),
        ("memory", ["64", "G", "-1G", "64GB", "0G", "1G;ls"]),
        ("container", ["a b", "-x", "img;ls", "$(id)", "a,b", "img\n"]),
        ("run", ["relative", "/a b", "/a\nb", "/$(id)", "/a'b", "/%j", "/a;b"]),
        ("folder", ["/home/a b"]),
        ("preset", ["a\nb"]),
    ],
)
def test_names_that_could_be_taken_for_something_else_are_refused(tmp_path, option, values):
    for value in values:
        with pytest.raises(InputError, match="allowed|made of|cannot be printed"):
            asked(tmp_path, **{option: value})


@pytest.mark.parametrize(
    ("option", "value"), [("nodes", 0), ("hours", 0), ("hours", float("nan")), ("seeds", -1), ("gpus_per_node", -1)]
)
def test_numbers_out_of_range_are_refused(tmp_path, option, value):
    with pytest.raises(InputError, match=option):
        asked(tmp_path, **{option: value})


@pytest.mark.parametrize(
    ("how", "reason", "again"),
    [
        ("stopped", "time limit", True),
        ("stopped", "SIGUSR2", True),
        ("stopped", "a signal to another process", True),
        ("finished", "all decisions", False),
    ],
)
def test_a_run_that_has_saved_goes_back_into_the_queue_and_one_that_finished_does_not(
    tmp_path, cluster, how, reason, again
):
    done = cluster(script(tmp_path), then=ending(tmp_path, how, reason))
    assert done.returncode == 0, done.stderr
    assert asked_of_scontrol(tmp_path) == (["requeue 41"] if again else [])
    assert f'{{"how": "{how}"' in done.stdout, "the log keeps how each attempt ended"


def test_of_an_array_only_the_task_itself_goes_back(tmp_path, cluster):
    """The last task of an array has the number of the whole array: `scontrol requeue 41` would start all of them."""
    text = script(tmp_path, seeds=3, first_seed=5)
    then = ending(tmp_path, "stopped", run="run/seed-7")
    done = cluster(text, then=then, SLURM_ARRAY_JOB_ID="41", SLURM_ARRAY_TASK_ID="2")
    assert done.returncode == 0, done.stderr
    assert asked_of_scontrol(tmp_path) == ["requeue 41_2"]
    words = (tmp_path / "words").read_text().splitlines()
    assert words[-4:] == ["--seed", "7", "--run", f"{tmp_path}/run/seed-7"]
    assert {"array=0-2", f"output={tmp_path}/run/job/log-%a.txt"} <= set(directives(text))


def test_a_run_that_failed_was_cancelled_or_told_to_end_is_not_queued_again(tmp_path, cluster):
    stopped = ending(tmp_path, "stopped")
    failed = cluster(script(tmp_path), then=f"{stopped}; exit 3")
    assert (failed.returncode, asked_of_scontrol(tmp_path)) == (3, [])
    ended = cluster(script(tmp_path), then=f"{stopped}; kill -TERM $PPID")
    assert (ended.returncode, asked_of_scontrol(tmp_path)) == (0, [])
    cancelled = cluster(script(tmp_path), then=f"{stopped}; touch {tmp_path}/run/job/stop")
    assert (cancelled.returncode, asked_of_scontrol(tmp_path)) == (0, [])
    (tmp_path / "words").unlink()
    before = cluster(script(tmp_path))
    assert before.returncode == 0
    assert "cancelled before it began" in before.stdout
    assert not (tmp_path / "words").exists()


def test_an_image_is_entered_by_apptainer_or_by_the_plug_in_of_srun(tmp_path):
    sif = script(tmp_path, container="/images/sparring.sif", gpus_per_node=1)
    assert (
        f"apptainer exec --nv --bind {tmp_path},{tmp_path}/run --pwd {tmp_path} /images/sparring.sif python3 -m" in sif
    )
    other = script(tmp_path, container="nvcr.io#nvidia/pytorch:25.01-py3")
    assert f"--container-image=nvcr.io#nvidia/pytorch:25.01-py3 --container-mounts={tmp_path}:{tmp_path}," in other
    assert "\n    python3 -m torch.distributed.run" in other
