"""A preset as a job: checked, placed and written, with SLURM's programs answering as they did on a small cluster."""

import json
from pathlib import Path

import pytest
import yaml
from msgspec import to_builtins
from typer.testing import CliRunner

from sparring.cli import app
from sparring.core import InputError
from sparring.launch.training_job import prepare, small_sizes
from sparring.training.config import load_config
from sparring.training.presets import preset_names

RECORDED = Path(__file__).parent / "recorded"
ANSWERS = {
    "scontrol": f"cat {RECORDED}/partitions.txt",
    "sinfo": f"cat {RECORDED}/nodes.txt",
    "sacctmgr": f'case "$*" in *associations*) cat {RECORDED}/associations.txt;; *"show user"*) cat '
    f"{RECORDED}/default-account.txt;; *) cat {RECORDED}/qos.txt;; esac",
    "sbatch": "touch sent; echo 41",
}


@pytest.fixture(autouse=True)
def cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, body in ANSWERS.items():
        (programs / name).write_text(f"#!/bin/bash\n{body}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return programs


def job(*overrides, **asked):
    said = []
    given = {"run": None, "resume": False, "test_mode": False, "mock_data": False, "hours": 0.5, "gpus_per_node": 0}
    made = prepare("kuhn-ppo", overrides, say=said.append, **given | {"processes_per_node": None} | asked)
    return made, said


def hold_a_run(folder, *overrides):
    folder.mkdir(parents=True)
    config, _ = load_config("kuhn-ppo", overrides)
    (folder / "config.yaml").write_text(yaml.safe_dump(to_builtins(config)))


def test_a_dry_run_says_what_was_chosen_prints_the_script_and_leaves_nothing(tmp_path):
    words = ["launch", "slurm", "kuhn-ppo", "threads=1", "--nodes", "2", "--hours", "0.5", "--dry-run"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout.startswith("#!/bin/bash\n")
    assert "#SBATCH --nodes=2\n" in result.stdout
    assert "account lab: your default" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["programs"]


def test_a_job_is_sent_with_its_script_in_the_run_folder(tmp_path):
    words = ["launch", "slurm", "kuhn-ppo", "--hours", "0.5", "--no-follow"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert (result.exit_code, result.stdout) == (0, "41\n")
    kept = tmp_path / "runs" / "kuhn-ppo" / "job"
    assert json.loads((kept / "job.json").read_text())["job"] == 41
    assert "--checkpoint-minutes 15 --time-limit-hours 0.5" in (kept / "job.sh").read_text()
    assert (tmp_path / "sent").exists()


def test_a_test_run_writes_each_key_once():
    made, _ = job("decisions=900000", "threads=1", test_mode=True)
    assert [text for text in made.request.overrides if text.startswith("decisions=")] == ["decisions=4096"]
    assert "threads=1" in made.request.overrides


def test_where_slurm_keeps_no_accounts_this_is_said(cluster):
    (cluster / "sacctmgr").write_text(
        '#!/bin/bash\necho "You are not running a supported accounting_storage" >&2\nexit 1\n'
    )
    made, said = job()
    assert said[0].startswith("no accounts: sacctmgr: You are not running a supported accounting_storage")
    assert "#SBATCH --account" not in made.script


def test_a_test_is_short_small_and_in_a_folder_of_its_own(tmp_path):
    made, said = job(test_mode=True, hours=6.0)
    assert made.request.run == str(tmp_path / "runs" / "kuhn-ppo-test")
    assert made.request.hours < 0.2
    assert "decisions=4096" in made.script
    assert "partition main: the shortest limit that is long enough" in said[0], (
        "ten minutes are too long for the partition debug"
    )


@pytest.mark.parametrize("preset", sorted(preset_names()))
def test_every_preset_can_be_made_small(preset):
    config, _ = load_config(preset, [])
    small, _ = load_config(preset, small_sizes(config))
    assert small.decisions == 4096


def test_a_folder_that_holds_a_run_is_gone_on_with_only_if_asked(tmp_path):
    run = tmp_path / "runs" / "r"
    with pytest.raises(InputError, match="holds no run to go on with; leave out --resume"):
        job(run=run, resume=True)
    hold_a_run(run)
    with pytest.raises(InputError, match="holds a run: go on with it by --resume"):
        job(run=run)
    assert job(run=run, resume=True)[0].request.run == str(run)
    with pytest.raises(InputError, match="holds another run .seed: 0 there, 7 here"):
        job("seed=7", run=run, resume=True)


def test_what_a_run_would_refuse_is_refused_before_the_job_is_sent():
    with pytest.raises(InputError, match="learner.lr: unknown key"):
        job("learner.lr=1")
    with pytest.raises(InputError, match="cluster: several processes would each want all of it"):
        job("cluster.address=auto", nodes=2)


def test_a_run_can_be_tried_without_data():
    learner = "learner={kind: imitation}"
    with pytest.raises(InputError, match="data: imitation needs episodes"):
        job(learner)
    assert " --mock-data --time-limit-hours 0.5 " in job(learner, mock_data=True)[0].script


def test_the_signal_is_that_of_the_configuration():
    made, _ = job("job.signal=USR1")
    assert "#SBATCH --signal=USR1@180" in made.script
    assert "trap '' USR1" in made.script
    assert made.signal == "USR1"
