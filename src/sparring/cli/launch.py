"""`sparring launch`: training as a job of a cluster."""

from pathlib import Path
from typing import Annotated

import typer

from sparring.cli.app import app, say, show
from sparring.cli.help import App
from sparring.cli.options import Overrides

launch = App(name="launch", help="Train as a job of a SLURM cluster, and look after it.", rich_markup_mode=None)
app.add_typer(launch, rich_help_panel="Train and play")

JobName = Annotated[str, typer.Argument(help="A job's number, 12 or 12_3 for a task of an array, or its run folder.")]


@launch.command("slurm", epilog="Example: sparring launch slurm hex-quick --nodes 2 --gpus-per-node 4 --hours 6")
def slurm(
    preset: Annotated[str, typer.Argument(help="A preset's name, or the path of a YAML file.")],
    overrides: Overrides = None,
    run: Annotated[Path | None, typer.Option(help="Run folder, seen by all nodes.  [default: runs/PRESET]")] = None,
    nodes: Annotated[int, typer.Option(min=1, help="Machines.")] = 1,
    gpus_per_node: Annotated[int, typer.Option(min=0, help="GPUs of each, one for each process.")] = 0,
    processes_per_node: Annotated[
        int | None, typer.Option(min=1, help="Processes on each.  [default: one a GPU, or one]")
    ] = None,
    hours: Annotated[
        float, typer.Option(min=0.01, help="Time limit; before it the run is saved, and the job queued again.")
    ] = 6.0,
    partition: Annotated[str | None, typer.Option(help="[default: the cluster's, or one that fits]")] = None,
    account: Annotated[str | None, typer.Option(help="Who pays.  [default: yours]")] = None,
    qos: Annotated[str | None, typer.Option(help="Quality of service.  [default: the account's]")] = None,
    memory: Annotated[
        str | None, typer.Option(help="Of each node, such as 64G.  [default: the part that its CPUs are]")
    ] = None,
    exclusive: Annotated[bool, typer.Option("--exclusive", help="Whole nodes, shared with nobody.")] = False,
    constraint: Annotated[str | None, typer.Option(help="Features that nodes must have, such as a100&nvlink.")] = None,
    container: Annotated[
        str | None, typer.Option(help="Image to train in: a .sif file, or what the plug-in pyxis takes.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=0, help="Number of runs with different seeds, as an array of jobs.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that the folder holds.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the script; write and send nothing.")] = False,
    test_mode: Annotated[
        bool, typer.Option("--test-mode", help="A few minutes with small sizes, where short jobs are run.")
    ] = False,
    mock_data: Annotated[
        bool, typer.Option("--mock-data", help="Play some matches to learn from: to try imitation without data.")
    ] = False,
    follow: Annotated[bool, typer.Option(help="Show the log until the job is over.")] = True,
) -> None:
    """Send a job that trains a preset on one or more machines, and show its log.

    Partition, account and quality of service are looked up if they are not given, and it is said why they were chosen.
    The job is queued again when a node fails and at its time limit, and goes on where it was saved.
    """
    from sparring.training.presets import check_preset

    check_preset(preset, overrides or [])

    from sparring.launch.jobs import submit
    from sparring.launch.training_job import prepare

    job = prepare(
        preset,
        overrides or [],
        run=run,
        resume=resume,
        test_mode=test_mode,
        mock_data=mock_data,
        hours=hours,
        gpus_per_node=gpus_per_node,
        processes_per_node=processes_per_node,
        say=say,
        nodes=nodes,
        partition=partition,
        account=account,
        qos=qos,
        memory=memory,
        exclusive=exclusive,
        constraint=constraint,
        container=container,
        seeds=seeds,
    )
    if dry_run:
        print(job.script, end="")
        return
    sent = submit(job.request, job.script, signal=job.signal)
    print(sent.number)
    say(f"sent as job {sent.number}; its script and log are in {sent.folder}")
    if seeds:
        say(f"sparring launch logs {sent.number}_0 shows the log of the first run")
    elif follow:
        _follow(sent.number, lines=0)


@launch.command(epilog="Example: sparring launch status runs/hex-quick")
def status(job: JobName) -> None:
    """Show what SLURM says of a job, and how far its training is."""
    from sparring.launch.jobs import find_job
    from sparring.launch.status import job_table

    show(job_table(find_job(job)))


@launch.command(epilog="Example: sparring launch logs runs/hex-quick --follow")
def logs(
    job: JobName,
    lines: Annotated[int, typer.Option(min=0, help="How many of the last ones.")] = 40,
    follow: Annotated[bool, typer.Option("--follow", help="And those that come, until the job is over.")] = False,
) -> None:
    """Print the end of a job's log."""
    from sparring.core import InputError
    from sparring.core.text import printable_lines
    from sparring.launch.jobs import find_job
    from sparring.launch.logs import last_lines

    if follow:
        _follow(job, lines=lines)
        return
    log = find_job(job).log
    if not log.exists():
        raise InputError(f"{log}: no such log; the job has not begun, or its folder is not whole")
    for line in last_lines(log, lines):
        print(printable_lines(line))


@launch.command(epilog="Example: sparring launch cancel 12")
def cancel(
    job: JobName,
    now: Annotated[bool, typer.Option("--now", help="At once, losing what is not saved.")] = False,
) -> None:
    """End a job: it saves first, and is not queued again."""
    from sparring.launch.explaining import explain_job
    from sparring.launch.jobs import cancel as cancel_job
    from sparring.launch.jobs import find_job

    found = find_job(job)
    cancel_job(found, now=now, say=say)
    for sentence in explain_job(found):
        print(sentence)


@launch.command(epilog="Example: sparring launch explain 12")
def explain(job: JobName) -> None:
    """Say in one sentence why a job waits, or why it stopped."""
    from sparring.core.text import printable
    from sparring.launch.explaining import explain_job
    from sparring.launch.jobs import find_job

    for sentence in explain_job(find_job(job)):
        print(printable(sentence))


def _follow(name: str, *, lines: int) -> None:
    """Shows a job's log until the job is over, then why it is; Ctrl-C ends the showing alone."""
    from sparring.core.text import printable, printable_lines
    from sparring.launch.explaining import explain_job
    from sparring.launch.jobs import find_job
    from sparring.launch.logs import follow, last_lines, size

    job = find_job(name)
    position = size(job.log)
    for line in last_lines(job.log, lines):
        print(printable_lines(line))
    try:
        follow(job, lambda line: print(printable_lines(line), flush=True), say, position=position)
    except KeyboardInterrupt:
        say(f"job {job.number} goes on; sparring launch logs {job.number} --follow shows it again")
        return
    for sentence in explain_job(job):
        say(printable(sentence))
