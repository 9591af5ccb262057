"""One process per rank, as srun starts them; the tests set Slurm's variables, all else is real."""

import re
import signal
import socket
from pathlib import Path

import pytest

from contract.folder.events import Finished, Paused, Points, Started
from contract.folder.run_folder import RunFolder
from tests.testing.trainers.jobs import events, finish, losses, prepare, srun_variables, start, until
from trainers.ranks.rank_info import RankInfo, read_slurm_rank

RESOURCES = {"kind": "slurm", "nodes": 1, "ranks_per_node": 2}


def slurm_folder(path: Path, **choices: object) -> RunFolder:
    return prepare(path, resources=RESOURCES, collective={"kind": "ring"}, **choices)


@pytest.mark.ring("all")
def test_two_tasks_find_each_other_through_the_folder_and_train(tmp_path: Path) -> None:
    folder = slurm_folder(tmp_path / "run")
    jobs = [start(folder, environment=srun_variables(number)) for number in (1, 0)]  # rank 1 waits for rank 0
    assert [finish(job) for job in jobs] == [(0, ""), (0, "")]
    started, *_, finished = events(folder)
    assert isinstance(started, Started)
    assert started.hosts == ["localhost", "localhost"]
    assert isinstance(finished, Finished)
    assert folder.read_claim(1) == "77"


@pytest.mark.ring("all")
def test_slurm_s_warning_pauses_the_run_and_another_job_resumes_it(tmp_path: Path) -> None:
    """SIGUSR2 to the tasks, as Slurm sends before the time limit; then the next attempt, as job 78."""
    folder = slurm_folder(tmp_path / "run", epochs=60)
    jobs = [start(folder, environment=srun_variables(number)) for number in (1, 0)]
    until(lambda: losses(folder))
    for job in jobs:
        job.send_signal(signal.SIGUSR2)
    assert [finish(job) for job in jobs] == [(4, ""), (4, "")]
    paused = events(folder)[-1]
    assert isinstance(paused, Paused)
    jobs = [start(folder, environment=srun_variables(number, SLURM_JOB_ID="78")) for number in (1, 0)]
    assert [finish(job)[0] for job in jobs] == [0, 0]
    results = [event for event in events(folder) if isinstance(event, Points) and "loss" in event.values]
    assert [event.step for event in results] == list(range(1, 301)), "no step was taken twice"


@pytest.mark.ring("all")
def test_a_killed_task_leaves_only_an_echo(tmp_path: Path) -> None:
    """SIGKILL to task 1, as after an OOM kill: task 0 knows only that the connection to rank 1 broke."""
    folder = slurm_folder(tmp_path / "run", epochs=100_000)
    jobs = [start(folder, environment=srun_variables(number)) for number in (0, 1)]
    until(lambda: len(losses(folder)) > 2)
    jobs[1].kill()
    assert finish(jobs[0])[0] == 1
    (fall,) = folder.read_rank_failures(1)
    assert (fall.rank, fall.echo) == (0, True)
    assert re.search("lost the connection to another rank|rank 1 died: rank 0 waited in round", fall.reason)
    assert isinstance(events(folder)[-1], Points)
    finish(jobs[1])


def test_a_rank_uses_the_cores_of_its_slurm_task() -> None:
    assert read_slurm_rank(srun_variables(0, SLURM_CPUS_PER_TASK="17")).cores == 17
    assert read_slurm_rank(srun_variables(0)).cores is None


def test_a_second_step_of_a_job_does_not_repeat_its_attempt(tmp_path: Path) -> None:
    """A user calls `srun` twice in one allocation."""
    folder = slurm_folder(tmp_path / "run")
    folder.claim(1, "77")
    status, errors = finish(start(folder, "--attempt", "1", environment=srun_variables(0, SLURM_STEP_ID="1")))
    assert status == 3
    assert "this is job 77 (step 1)" in errors


@pytest.mark.ring("all")
def test_a_world_size_other_than_the_spec_s_is_refused(tmp_path: Path) -> None:
    """Slurm starts three tasks, the spec asks for two."""
    folder = slurm_folder(tmp_path / "run")
    status, _ = finish(start(folder, environment=srun_variables(0, tasks=3)))
    assert status == 1
    assert "the spec asks for 2 ranks; 3 were started" in events(folder)[-1].model_dump()["reason"]


def test_a_requeued_job_does_not_repeat_its_attempt(tmp_path: Path) -> None:
    """Slurm starts the same job id again after a node failure."""
    folder = slurm_folder(tmp_path / "run")
    folder.claim(1, "77")
    environment = srun_variables(0, SLURM_RESTART_COUNT="1")
    status, errors = finish(start(folder, "--attempt", "1", environment=environment))
    assert status == 3
    assert "belongs to job 77; this is job 77 (restart 1)" in errors


def test_a_job_that_slurm_starts_anew_without_counting_does_not_repeat_its_attempt(tmp_path: Path) -> None:
    """A controller that lost its state starts the job a second time, with the restart count of the first."""
    folder = slurm_folder(tmp_path / "run")
    folder.claim(1, "77 (start 1-2)")
    status, errors = finish(start(folder, "--attempt", "1", environment=srun_variables(0, BIGBATCH_START="3-4")))
    assert status == 3
    assert "belongs to job 77 (start 1-2); this is job 77 (start 3-4)" in errors
    assert folder.has_started_again(1)


def test_a_run_of_a_shared_job_is_identified_by_its_member_number(tmp_path: Path) -> None:
    """Slurm starts the same job id again, and its steps have other numbers."""
    folder = slurm_folder(tmp_path / "run")
    folder.claim(1, "77 (member 2)")
    environment = srun_variables(0, BIGBATCH_MEMBER="2", SLURM_STEP_ID="3", SLURM_RESTART_COUNT="1")
    status, errors = finish(start(folder, "--attempt", "1", environment=environment))
    assert status == 3
    assert "belongs to job 77 (member 2); this is job 77 (member 2) (restart 1)" in errors
    assert folder.has_started_again(1)


@pytest.mark.ring("all")
def test_a_local_run_inside_a_slurm_shell_is_local(tmp_path: Path) -> None:
    """A shell inside an allocation has Slurm's variables, although srun did not start the run."""
    folder = prepare(tmp_path / "run")
    assert finish(start(folder, environment=srun_variables(0)))[0] == 0
    assert len(losses(folder)) == folder.read_spec().steps


def test_the_rank_is_read_from_slurm_s_variables() -> None:
    environment = srun_variables(3, SLURM_NTASKS="7", SLURM_LOCALID="1", SLURM_NODEID="2", SLURMD_NODENAME="n3")
    environment["SLURM_STEP_TASKS_PER_NODE"] = "2(x2),3"
    assert read_slurm_rank(environment) == RankInfo(3, 7, local_rank=1, local_world=3, host="n3", address="n3")


def test_without_a_node_name_the_host_name_is_used() -> None:
    environment = srun_variables(0, SLURM_NTASKS="4")
    del environment["SLURMD_NODENAME"]
    assert read_slurm_rank(environment).address == socket.gethostname()


def test_the_ranks_of_one_host_meet_where_no_other_host_reaches_them() -> None:
    alone = srun_variables(0, SLURM_NTASKS="4", SLURM_STEP_TASKS_PER_NODE="4")
    assert (read_slurm_rank(alone).address, read_slurm_rank(alone).local_world) == ("127.0.0.1", 4)
    assert read_slurm_rank({**alone, "SLURM_NTASKS": "8", "SLURM_STEP_TASKS_PER_NODE": "4(x2)"}).address != "127.0.0.1"


@pytest.mark.parametrize(("spelled", "counts"), [("4", [4]), ("2(x3),1", [2, 2, 2, 1]), ("1,2(x2)", [1, 2, 2])])
def test_slurm_s_tasks_per_node_are_parsed(spelled: str, counts: list[int]) -> None:
    for node, count in enumerate(counts):
        environment = srun_variables(0, SLURM_NODEID=str(node), SLURM_STEP_TASKS_PER_NODE=spelled)
        assert read_slurm_rank(environment).local_world == count
