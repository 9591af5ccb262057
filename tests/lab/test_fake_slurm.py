"""The fake Slurm answers as Slurm does, runs jobs as processes, and applies injected faults."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lab.fake_slurm import programs
from lab.fake_slurm.state import ClusterState, Settings
from tests.testing.fake_slurm import carried, on_path
from tests.testing.servers import wait_for

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=na|me
#SBATCH --output={folder}/%a.out
#SBATCH --time={minutes}
{options}
srun --unbuffered --output=nowhere --output={folder}/%a.out --label --kill-on-bad-exit=1 bash -c '{work}'
"""


def script(folder: Path, work: str, *options: str, minutes: float = 60) -> str:
    path = folder / "script.sh"
    path.write_text(SCRIPT.format(folder=folder, work=work, minutes=minutes, options="\n".join(options)))
    return str(path)


def call(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, env={**os.environ, "PATH": on_path(folder)}, capture_output=True, text=True)


def states(folder: Path) -> list[str]:
    return call(folder, "squeue", "-h", "-r", "-t", "all", "-o", "%i %T").stdout.splitlines()


@pytest.fixture
def rows(tmp_path: Path) -> ClusterState:
    """Return a fake Slurm whose jobs are rows without processes."""
    stage = ClusterState.create(tmp_path, Settings(carried=0, hosts=1, cpus=2))
    programs.write(tmp_path)
    return stage


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterState]:
    with carried(tmp_path, Settings(kill_wait_s=0.5)) as stage:
        yield stage


def test_an_array_runs_as_many_tasks_as_cpus_are_free(rows: ClusterState) -> None:
    folder = rows.folder
    path = script(folder, "true", "#SBATCH --array=0-3")
    assert call(folder, "sbatch", path).stdout == "Submitted batch job 1\n"
    assert states(folder) == ["1_0 RUNNING", "1_1 RUNNING", "1_2 PENDING", "1_3 PENDING"]
    assert (
        call(folder, "squeue", "-h", "-t", "all", "--name=na|me", "-o", "%i|%F").stdout == "1_[2,3]|1\n1_0|1\n1_1|1\n"
    )
    call(folder, "scancel", "1_[0-1]")
    assert states(folder) == ["1_0 CANCELLED", "1_1 CANCELLED", "1_2 RUNNING", "1_3 RUNNING"]


def test_arrays_and_jobs_beyond_the_limits_are_refused(rows: ClusterState) -> None:
    path = script(rows.folder, "true", "#SBATCH --array=0-5")
    rows.set("max_array_size", 5)
    assert "Invalid job array specification" in call(rows.folder, "sbatch", path).stderr
    rows.set("max_array_size", 100)
    rows.set("max_submit", 5)
    assert "job submit limit" in call(rows.folder, "sbatch", path).stderr
    assert not rows.jobs()


@pytest.mark.ring("all")
def test_injected_faults_apply_and_end(rows: ClusterState) -> None:
    folder, path = rows.folder, script(rows.folder, "true")
    rows.set_fault("sbatch", "timeout", times=1)
    assert "Socket timed out" in call(folder, "sbatch", path).stderr
    rows.set_fault("sbatch", "accept-then-timeout", times=1)
    assert "Socket timed out" in call(folder, "sbatch", path).stderr
    assert len(rows.jobs()) == 1, "only the second sbatch has submitted a job"
    rows.set_fault("squeue", "empty", times=1)
    assert (states(folder), states(folder)) == ([], ["1 RUNNING"])
    rows.set_fault("squeue", "down")
    assert call(folder, "squeue").returncode == 1
    rows.set("sacct_late_s", 60)
    assert call(folder, "sacct", "-X", "-j", "1", "-o", "JobID").stdout == ""
    rows.set("next_id", 1)
    call(folder, "sbatch", path)
    assert [job.id for job in rows.jobs()] == [1, 1]
    assert rows.count_calls("sbatch") == 3


def test_ranks_run_on_their_hosts_and_their_lines_are_labelled(cluster: ClusterState) -> None:
    folder = cluster.folder
    work = 'echo "$SLURM_PROCID $SLURM_LOCALID $SLURMD_NODENAME $SLURM_ARRAY_TASK_ID"'
    call(
        folder, "sbatch", script(folder, work, "#SBATCH --array=7", "#SBATCH --nodes=2", "#SBATCH --ntasks-per-node=2")
    )
    wait_for("the job's end", lambda: states(folder) == ["1_7 COMPLETED"])
    lines = sorted((folder / "7.out").read_text().splitlines())
    assert lines == [f"{r}: {r} {r % 2} 127.0.1.{r // 2 + 1} 7" for r in range(4)]


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("work", "fault", "end"),
    [
        ("exit 3", [], "FAILED"),
        ("sleep 60", ["scancel", "1"], "CANCELLED"),
        ('trap "" TERM; sleep 60; sleep 60', ["scancel", "1"], "CANCELLED"),
        ("sleep 60", ["preempt", "1"], "PREEMPTED"),
        ("sleep 60", ["fail-host", "127.0.1.1"], "NODE_FAIL"),
    ],
)
def test_a_job_ends_in_the_state_of_its_fault(cluster: ClusterState, work: str, fault: list[str], end: str) -> None:
    folder = cluster.folder
    call(folder, "sbatch", script(folder, work, "#SBATCH --no-requeue"))
    wait_for("the job", lambda: any("RUNNING" in line for line in states(folder)) or not fault)
    if fault[:1] == ["scancel"]:
        call(folder, *fault)
    elif fault:
        subprocess.run([sys.executable, "-m", "lab.fake_slurm", str(folder), *fault], check=True)
    wait_for("the job's end", lambda: states(folder) == [f"1 {end}"])


def test_a_step_that_is_ended_leaves_no_process_which_it_was_starting(cluster: ClusterState) -> None:
    """Forces the race: rank 1 fails while rank 0 starts processes, and each of these holds the output of srun."""
    folder, mark = cluster.folder, cluster.folder / "many"
    starts = f"for i in $(seq 400); do sleep 98765 & [ $i = 20 ] && touch {mark}; done; wait"
    work = f"if [ $SLURM_PROCID = 0 ]; then {starts}; fi; until [ -e {mark} ]; do sleep 0.01; done; exit 1"
    call(folder, "sbatch", script(folder, work, "#SBATCH --nodes=1", "#SBATCH --ntasks-per-node=2"))
    wait_for("the end of the job", lambda: states(folder) == ["1 FAILED"])
    assert not [process for process in psutil.process_iter(["cmdline"]) if "98765" in (process.info["cmdline"] or ())]


@pytest.mark.ring("all")
def test_a_job_at_its_time_limit_is_warned_and_then_ended(cluster: ClusterState) -> None:
    folder = cluster.folder
    path = script(
        folder, 'trap "echo warned" USR2; while :; do sleep 0.1; done', "#SBATCH --signal=USR2@2", minutes=0.12
    )
    call(folder, "sbatch", path)
    wait_for("the job's end", lambda: states(folder) == ["1 TIMEOUT"])
    assert "0: warned" in (folder / "0.out").read_text()


@pytest.mark.ring("all")
def test_a_requeued_job_runs_again_with_its_id(cluster: ClusterState) -> None:
    folder = cluster.folder
    call(
        folder,
        "sbatch",
        script(folder, 'echo "start $SLURM_RESTART_COUNT"; sleep 0.5; [ $SLURM_RESTART_COUNT = 1 ] || sleep 60'),
    )
    wait_for(
        "the first start of the job",
        lambda: "start 0" in ((folder / "0.out").read_text() if (folder / "0.out").exists() else ""),
    )
    assert call(folder, "scontrol", "requeue", "1").returncode == 0
    wait_for("the job's end", lambda: states(folder) == ["1 COMPLETED"])
    assert "start 1" in (folder / "0.out").read_text()


@pytest.mark.ring("all")
def test_a_held_job_starts_after_its_release(rows: ClusterState) -> None:
    folder = rows.folder
    for _ in range(3):
        call(folder, "sbatch", script(folder, "true"))
    assert states(folder) == ["1 RUNNING", "2 RUNNING", "3 PENDING"]
    assert call(folder, "scontrol", "hold", "3").returncode == 0
    call(folder, "scancel", "1")
    assert call(folder, "squeue", "-h", "-o", "%i %T %r").stdout == "2 RUNNING None\n3 PENDING JobHeldUser\n"
    call(folder, "scontrol", "release", "3")
    call(folder, "scancel", "2")
    assert states(folder)[2] == "3 RUNNING"
    assert "no longer pending" in call(folder, "scontrol", "hold", "3").stderr
