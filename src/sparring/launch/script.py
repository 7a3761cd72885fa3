"""The batch script of a job: everything that happens on the cluster, in one readable file.

What it does when training has ended, by what the run folder's ending.json says:

| ending | then |
|---|---|
| finished | the job is over |
| stopped by the time limit, or by the signal that announces it | it is put into the queue again, to go on |
| stopped by `sparring launch cancel`, or by scancel | the job is over; the same command goes on |
| failed, and failed again after torchrun's restarts | the job fails |

A node that fails is SLURM's to notice; it then puts the job into the queue again by itself (`--requeue`). A requeue
names one task: `scontrol requeue` with the id of an array would start all of its tasks again.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path

from sparring.launch.placing import Placement
from sparring.launch.programs import clock
from sparring.launch.request import JobRequest
from sparring.training.deadline import JOB_BEGAN
from sparring.training.run import JOB

RESTARTS = 3
"""How often torchrun starts the processes again when one has died, before the job fails."""
ATTEMPT = "== sparring: job"
"""What the line begins with by which the log tells attempts apart."""

_SCRIPT = """\
#!/bin/bash
# {title}
# The same job again: sbatch {script}
{directives}

trap '' {signal}                 # it tells the training processes to save; nobody else shall die of it
trap 'ended_by_scancel=1' TERM
{which}
kept={kept}
note="$kept/stop{suffix}"      # sparring launch cancel leaves it
restarts=${{SLURM_RESTART_COUNT:-0}}
address=$(scontrol show node "$SLURMD_NODENAME" --oneliner | sed -n 's/.* NodeAddr=\\([^ ]*\\).*/\\1/p')
port=$((20000 + SLURM_JOB_ID % 20000))
export OMP_NUM_THREADS={threads}
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1    # else processes that torchrun starts again on several nodes do not meet
echo "{attempt} $SLURM_JOB_ID, attempt $((restarts + 1)), on $SLURM_JOB_NODELIST, in $run"
if [ -e "$note" ]; then
    echo "cancelled before it began"
    exit 0
fi
rm -f "$run/ending.json"

# one torchrun on each node, which starts the processes there; `node` counts time from here, whatever starts again
node='trap "" {signal}
read -r {began} _ < /proc/uptime
export {began} PET_RDZV_CONF="is_host=$((SLURM_PROCID == 0))"
exec "$@"'
srun --kill-on-bad-exit=1 --cpus-per-task="$SLURM_CPUS_PER_TASK"{srun} bash -c "$node" node \\
    {launcher} -m torch.distributed.run \\
    --nnodes="$SLURM_JOB_NUM_NODES" --nproc-per-node={processes} --max-restarts={most_restarts} \\
    --rdzv-backend=c10d --rdzv-id="$SLURM_JOB_ID-$restarts" --rdzv-endpoint="$address:$port" -m -- \\
    sparring train {train} \\
    --run "$run"
code=$?

for _ in $(seq 30); do         # a file that another node wrote may take a while to be seen here
    [ "$code" -ne 0 ] || [ -e "$run/ending.json" ] && break
    sleep 1
done
[ -e "$run/ending.json" ] && echo "$(< "$run/ending.json")"
if [ "$code" -ne 0 ] || [ -n "${{ended_by_scancel:-}}" ] || [ -e "$note" ]; then
    exit "$code"
fi
if grep -q '"how": "stopped"' "$run/ending.json"; then
    task=$SLURM_JOB_ID
    if [ -n "${{SLURM_ARRAY_JOB_ID:-}}" ]; then
        task=${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID    # this task alone, never the whole array
    fi
    for _ in 1 2 3; do
        echo "saved; job $task goes back into the queue"
        timeout 60 scontrol requeue "$task" && exit 0
        sleep 10
    done
    echo "job $task could not be put into the queue again; go on with: sbatch {script}"
    exit 1
fi
"""


def batch_script(
    request: JobRequest, placement: Placement, *, python: str, train: Sequence[str] = (), signal: str = "USR2"
) -> str:
    """The script; `python` runs it on the nodes, `train` are more words for `sparring train`."""
    array = request.seeds > 0
    kept = Path(request.run) / JOB
    run, which = shlex.quote(request.run), f"run={shlex.quote(request.run)}"
    words = [request.preset, *request.overrides, *train, "--time-limit-hours", f"{request.hours:.6g}"]
    training = shlex.join(words)
    if array:
        which = f"seed=$(({request.first_seed} + SLURM_ARRAY_TASK_ID))\nrun={run}/seed-$seed"
        training += ' --seed "$seed"'
    what = f"{request.seeds} runs" if array else "a run"
    srun, launcher = _inside(request, python)
    return _SCRIPT.format(
        title=f"Written by sparring launch slurm: {what} of {request.name.removeprefix('sparring-')}.",
        script=shlex.quote(str(kept / "job.sh")),
        directives="\n".join(f"#SBATCH --{line}" for line in _directives(request, placement, kept, signal)),
        signal=signal,
        which=which,
        kept=shlex.quote(str(kept)),
        suffix="-$SLURM_ARRAY_TASK_ID" if array else "",
        threads=max(1, placement.cpus // request.processes_per_node),
        attempt=ATTEMPT,
        began=JOB_BEGAN,
        srun=srun,
        launcher=launcher,
        processes=request.processes_per_node,
        most_restarts=RESTARTS,
        train=training,
    )


def lead_seconds(hours: float) -> int:
    """How long before the time limit SLURM sends the signal: three minutes, or a tenth of a short limit."""
    return int(min(180, max(5, 360 * hours)))


def _directives(request: JobRequest, placement: Placement, kept: Path, signal: str) -> list[str]:
    found = [
        f"job-name={request.name}",
        f"partition={placement.partition}",
        f"account={placement.account}" if placement.account else "",
        f"qos={placement.qos}" if placement.qos else "",
        f"nodes={request.nodes}",
        "ntasks-per-node=1",
        f"cpus-per-task={placement.cpus}",
        f"gres=gpu:{request.gpus_per_node}" if request.gpus_per_node else "",
        "" if placement.memory is None else f"mem={placement.memory}M" if placement.memory else "mem=0",
        "exclusive" if request.exclusive else "",
        f"constraint={shlex.quote(request.constraint)}" if request.constraint else "",
        f"array=0-{request.seeds - 1}" if request.seeds else "",
        f"time={clock(request.hours)}",
        f"signal={signal}@{lead_seconds(request.hours)}",
        "requeue",
        f"chdir={request.folder}",
        f"output={kept / ('log-%a.txt' if request.seeds else 'log.txt')}",
        "open-mode=append",
    ]
    return [line for line in found if line]


def _inside(request: JobRequest, python: str) -> tuple[str, str]:
    """More options of srun, and the words before torchrun's: those of the container, if there is one, and Python."""
    image = request.container
    if image is None:
        return "", shlex.quote(python)
    places = sorted({request.folder, request.run})
    if image.endswith(".sif"):
        nvidia = " --nv" if request.gpus_per_node else ""
        return "", f"apptainer exec{nvidia} --bind {','.join(places)} --pwd {request.folder} {image} python3"
    mounts = ",".join(f"{place}:{place}" for place in places)
    options = f"--container-image={image} --container-mounts={mounts} --container-workdir={request.folder}"
    return f" \\\n    {options}", "python3"
