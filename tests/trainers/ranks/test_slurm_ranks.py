"""One process per rank, as srun starts them; Slurm's variables are set by hand, everything else is real."""

import re
import signal
import socket
from pathlib import Path

import pytest

from contract.folder.events import Finished, Paused, Points, Started
from contract.folder.run_folder import RunFolder
from tests.testing.trainers.jobs import events, finish, losses, prepare, start, until
from trainers.ranks.rank_info import Place, in_slurm

RESOURCES = {"kind": "slurm", "nodes": 1, "ranks_per_node": 2}


def task(number: int, tasks: int = 2, **more: str) -> dict[str, str]:
    """What srun tells task `number` of those that share one node."""
    return {
        "SLURM_JOB_ID": "77",
        "SLURM_PROCID": str(number),
        "SLURM_NTASKS": str(tasks),
        "SLURM_LOCALID": str(number),
        "SLURM_NODEID": "0",
        "SLURM_STEP_TASKS_PER_NODE": str(tasks),
        "SLURMD_NODENAME": "localhost",
        **more,
    }


def slurm_folder(path: Path, **choices: object) -> RunFolder:
    return prepare(path, resources=RESOURCES, collective={"kind": "ring"}, **choices)


def test_two_tasks_meet_through_the_folder_and_train(tmp_path: Path) -> None:
    folder = slurm_folder(tmp_path / "run")
    jobs = [start(folder, environment=task(number)) for number in (1, 0)]  # rank 1 waits for rank 0
    assert [finish(job) for job in jobs] == [(0, ""), (0, "")]
    started, *_, finished = events(folder)
    assert isinstance(started, Started)
    assert started.hosts == ["localhost", "localhost"]
    assert isinstance(finished, Finished)
    assert folder.claimed_by(1) == "77"


def test_slurm_s_warning_pauses_the_run_and_another_job_goes_on(tmp_path: Path) -> None:
    """SIGUSR2 to the tasks, which Slurm sends before the time limit; then the next attempt, as job 78."""
    folder = slurm_folder(tmp_path / "run", epochs=60)
    jobs = [start(folder, environment=task(number)) for number in (1, 0)]
    until(lambda: losses(folder))
    for job in jobs:
        job.send_signal(signal.SIGUSR2)
    assert [finish(job) for job in jobs] == [(4, ""), (4, "")]
    paused = events(folder)[-1]
    assert isinstance(paused, Paused)
    jobs = [start(folder, environment=task(number, SLURM_JOB_ID="78")) for number in (1, 0)]
    assert [finish(job)[0] for job in jobs] == [0, 0]
    told = [event for event in events(folder) if isinstance(event, Points) and "loss" in event.values]
    assert [event.step for event in told] == list(range(1, 301)), "no step was taken twice"


def test_a_killed_task_is_no_reason_to_blame_the_one_that_heard_of_it(tmp_path: Path) -> None:
    """SIGKILL to task 1, as when its node runs out of memory: Slurm knows why, task 0 only that rank 1 is gone."""
    folder = slurm_folder(tmp_path / "run", epochs=100_000)
    jobs = [start(folder, environment=task(number)) for number in (0, 1)]
    until(lambda: len(losses(folder)) > 2)
    jobs[1].kill()
    assert finish(jobs[0])[0] == 1
    (fall,) = folder.falls(1)
    assert (fall.rank, fall.echo) == (0, True)
    assert re.search("lost the connection to another rank|rank 1 died: rank 0 waited in round", fall.reason)
    assert isinstance(events(folder)[-1], Points)
    finish(jobs[1])


def test_a_rank_takes_the_cores_that_slurm_gave_it() -> None:
    assert in_slurm(task(0, SLURM_CPUS_PER_TASK="17")).cores == 17
    assert in_slurm(task(0)).cores is None


def test_a_second_step_of_a_job_does_not_repeat_its_attempt(tmp_path: Path) -> None:
    """`srun` twice by hand in one allocation."""
    folder = slurm_folder(tmp_path / "run")
    folder.claim(1, "77")
    status, errors = finish(start(folder, "--attempt", "1", environment=task(0, SLURM_STEP_ID="1")))
    assert status == 3
    assert "this is job 77 (step 1)" in errors


def test_a_world_of_another_size_than_the_spec_s_is_refused_with_both(tmp_path: Path) -> None:
    """Slurm gives three tasks where the spec says two."""
    folder = slurm_folder(tmp_path / "run")
    status, _ = finish(start(folder, environment=task(0, tasks=3)))
    assert status == 1
    assert "the spec asks for 2 ranks; 3 were started" in events(folder)[-1].model_dump()["reason"]


def test_a_requeued_job_does_not_repeat_its_attempt(tmp_path: Path) -> None:
    """Slurm starts the same job id again after a node failure."""
    folder = slurm_folder(tmp_path / "run")
    folder.claim(1, "77")
    environment = task(0, SLURM_RESTART_COUNT="1")
    status, errors = finish(start(folder, "--attempt", "1", environment=environment))
    assert status == 3
    assert "belongs to job 77; this is job 77 (restart 1)" in errors


def test_a_run_of_a_shared_job_is_known_by_its_place_whatever_its_step_s_number(tmp_path: Path) -> None:
    """Slurm starts the same job id again, and its steps come in another order."""
    folder = slurm_folder(tmp_path / "run")
    folder.claim(1, "77 (member 2)")
    environment = task(0, BIGBATCH_MEMBER="2", SLURM_STEP_ID="3", SLURM_RESTART_COUNT="1")
    status, errors = finish(start(folder, "--attempt", "1", environment=environment))
    assert status == 3
    assert "belongs to job 77 (member 2); this is job 77 (member 2) (restart 1)" in errors
    assert folder.began_again(1)


def test_a_local_run_inside_a_slurm_shell_is_local(tmp_path: Path) -> None:
    """A user's shell inside an allocation carries Slurm's variables, and srun did not start the job."""
    folder = prepare(tmp_path / "run")
    assert finish(start(folder, environment=task(0)))[0] == 0
    assert len(losses(folder)) == folder.read_spec().steps


def test_a_task_s_place_is_read_from_slurm() -> None:
    environment = task(3, SLURM_NTASKS="7", SLURM_LOCALID="1", SLURM_NODEID="2", SLURMD_NODENAME="n3")
    environment["SLURM_STEP_TASKS_PER_NODE"] = "2(x2),3"
    assert in_slurm(environment) == Place(3, 7, local_rank=1, local_world=3, host="n3", address="n3")


def test_without_a_node_name_the_host_s_own_is_used() -> None:
    environment = task(0)
    del environment["SLURMD_NODENAME"]
    assert in_slurm(environment).address == socket.gethostname()


@pytest.mark.parametrize(("spelled", "counts"), [("4", [4]), ("2(x3),1", [2, 2, 2, 1]), ("1,2(x2)", [1, 2, 2])])
def test_tasks_per_node_as_slurm_spells_them(spelled: str, counts: list[int]) -> None:
    for node, count in enumerate(counts):
        environment = task(0, SLURM_NODEID=str(node), SLURM_STEP_TASKS_PER_NODE=spelled)
        assert in_slurm(environment).local_world == count
