"""Slurm, with its commands played by scripts put first on PATH: for answers that a real one cannot be made to give."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from contract.folder import RunFolder
from contract.settings import Settings
from contract.spec import RunSpec
from scheduler.clusters.cluster import Alive, Answer, DoubtError, Gone, Job, RefusedError, Unknown
from scheduler.clusters.slurm import Slurm
from scheduler.clusters.slurm_states import answer_for
from scheduler.preview import preview
from tests.conftest import Experiment

Play = Callable[[str, str], None]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Make one of Slurm's commands a shell script."""
    stage = tmp_path / "bin"
    stage.mkdir()
    monkeypatch.setenv("PATH", f"{stage}{os.pathsep}{os.environ['PATH']}")

    def write(command: str, script: str) -> None:
        (stage / command).write_text(f"#!/bin/sh\n{script}\n")
        (stage / command).chmod(0o755)

    for command in ("sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo"):
        write(command, 'echo "not played" >&2; exit 1')
    return write


@pytest.fixture
def job(tmp_path: Path, experiment: Experiment) -> Job:
    need = {
        "kind": "slurm",
        "partition": "knl",
        "nodes": 2,
        "ranks_per_node": 4,
        "constraint": "knl&quad",
        "gres": "gpu:4",
        "minutes": 30,
        "account": "lab",
        "qos": "high",
        "memory_gb": 64,
        "cpus_per_rank": 17,
    }
    spec: RunSpec = experiment(resources=need).base
    folder = RunFolder.of(tmp_path, 1, "cafe")
    folder.prepare(spec)
    return Job("bigbatch-cafe-1", folder, 1, spec)


def test_the_script_asks_for_all_that_the_spec_asks_for(job: Job) -> None:
    script = Slurm("/shared/python", ["module load cuda"]).script(job)
    for line in (
        "#SBATCH --partition=knl",
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks-per-node=4",
        "#SBATCH --cpus-per-task=17",
        "#SBATCH --constraint='knl&quad'",
        "#SBATCH --gres=gpu:4",
        "#SBATCH --time=30",
        "#SBATCH --signal=USR2@90",
        "#SBATCH --account=lab",
        "#SBATCH --qos=high",
        "#SBATCH --mem=64GB",
        "#SBATCH --no-requeue",
        "#SBATCH --job-name=bigbatch-cafe-1",
        "module load cuda",
    ):
        assert line in script.splitlines()
    (srun,) = [line for line in script.splitlines() if line.startswith("srun")]
    assert srun.endswith(f"/shared/python -P -u -m trainers {job.folder.path} --attempt 1")
    assert "--kill-on-bad-exit=1" in srun
    assert "wckey" not in script


def test_the_preview_shows_every_point_and_each_script_once(experiment: Experiment) -> None:
    lines = list(preview(experiment({"seed": [0, 1], "batch": [64, 128]}), Settings(home=Path("/h"))))
    assert lines[0] == "test: 4 runs"
    assert lines[2] == "  [1] seed=0 batch=128 - local, 1 x 2 ranks, 22 steps of 128"
    assert len([line for line in lines if "trainers" in line]) == 1


def test_what_sbatch_is_given_is_what_the_preview_shows(play: Play, job: Job, tmp_path: Path) -> None:
    play("sbatch", f'cp "$1" {tmp_path}/given; echo "Submitted batch job 42"')
    cluster = Slurm()
    assert cluster.submit(job) == "42"
    assert (tmp_path / "given").read_text() == cluster.script(job)


def test_no_secret_of_the_service_goes_with_a_job(
    play: Play, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIGBATCH_TOKEN", "secret")
    monkeypatch.setenv("SITE", "kept")
    monkeypatch.setenv("SBATCH_PARTITION", "would overrule the spec's")
    monkeypatch.setenv("SLURM_CONF", "/lab/slurm.conf")
    play("sbatch", f'env > {tmp_path}/environment; echo "Submitted batch job 42"')
    Slurm().submit(job)
    given = (tmp_path / "environment").read_text()
    assert "BIGBATCH_" not in given
    assert "SBATCH_" not in given
    assert "SITE=kept" in given
    assert "SLURM_CONF=/lab/slurm.conf" in given


def test_a_refusal_is_in_slurms_words(play: Play, job: Job) -> None:
    play("sbatch", 'echo "sbatch: error: invalid partition specified: knl" >&2; exit 1')
    with pytest.raises(RefusedError, match=r"^invalid partition specified: knl$"):
        Slurm().submit(job)


@pytest.mark.parametrize(
    "script",
    [
        'echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1',
        'echo "sbatch: error: Unable to contact slurm controller (connect failure)" >&2; exit 1',
        'echo "sbatch: error: Batch job submission failed: Invalid authentication credential" >&2; exit 1',
        "exit 124",
        'echo "ok then"',
    ],
)
def test_an_outcome_that_is_not_known_is_doubt(play: Play, job: Job, script: str) -> None:
    play("sbatch", script)
    with pytest.raises(DoubtError):
        Slurm().submit(job)


def test_all_jobs_are_asked_for_at_once_and_the_answer_serves_a_while(play: Play, tmp_path: Path) -> None:
    play("squeue", f'echo x >> {tmp_path}/calls; printf "1|RUNNING|None\\n2|PENDING|Priority\\n3|TIMEOUT|TimeLimit\\n"')
    cluster = Slurm()
    for _ in range(3):
        assert cluster.ask(["1", "2", "3"]) == {
            "1": Alive(),
            "2": Alive("Priority"),
            "3": Gone("the job reached its time limit (TimeLimit)"),
        }
    assert (tmp_path / "calls").read_text() == "x\n"


def test_a_squeue_that_fails_says_nothing_about_any_job(play: Play) -> None:
    play("squeue", 'echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1')
    answer = Slurm().ask(["1"])["1"]
    assert isinstance(answer, Unknown)
    assert "Unable to contact slurm controller" in answer.why


def test_a_slurm_that_fails_is_not_asked_again_at_once(play: Play, tmp_path: Path) -> None:
    play("squeue", f"echo x >> {tmp_path}/calls; exit 1")
    cluster = Slurm()
    for _ in range(3):
        assert isinstance(cluster.ask(["1"])["1"], Unknown)
    assert (tmp_path / "calls").read_text() == "x\n"


@pytest.mark.parametrize(
    ("sacct", "scontrol", "answer"),
    [
        ('echo "1|COMPLETED|0:0"', "exit 1", Gone("the job ended")),
        ('echo "1|CANCELLED by 0|0:15"', "exit 1", Gone("the job was cancelled in Slurm (exit code 0:15)")),
        ("true", "exit 1", Unknown("scontrol: exit code 1")),
        ("true", 'echo "Invalid job id specified" >&2; exit 1', Gone("the job has left Slurm")),
        ("exit 1", 'echo "Invalid job id specified" >&2; exit 1', Gone("the job has left Slurm")),
        ("exit 1", "echo JobId=1", Unknown("squeue does not list the job, the controller knows it")),
    ],
)
def test_a_job_that_squeue_has_forgotten(play: Play, sacct: str, scontrol: str, answer: Answer) -> None:
    """An empty answer of squeue is never death by itself."""
    play("squeue", "true")
    play("sacct", sacct)
    play("scontrol", scontrol)
    assert Slurm().ask(["1"]) == {"1": answer}


def test_a_job_just_submitted_is_alive_before_squeue_lists_it(play: Play, job: Job) -> None:
    play("squeue", "true")
    cluster = Slurm()
    cluster.ask(["1"])
    play("sbatch", 'echo "Submitted batch job 7"')
    cluster.submit(job)
    assert cluster.ask(["7"]) == {"7": Alive()}


def test_a_job_is_found_by_its_name_without_accounting_too(play: Play, job: Job) -> None:
    play("squeue", 'case "$*" in *--name=bigbatch-cafe-1*) echo 9;; esac')
    assert Slurm().find(job) == "9"
    play("squeue", "true")
    assert Slurm().find(job) is None
    play("squeue", "exit 1")
    with pytest.raises(DoubtError):
        Slurm().find(job)


def test_words_of_states_that_nobody_knows_are_no_answer() -> None:
    assert answer_for("HIBERNATING", "") is None
    assert answer_for("", "") is None
    assert answer_for("COMPLETING", "") == Alive()
    assert answer_for("NODE_FAIL", "None") == Gone("a node of the job failed")
