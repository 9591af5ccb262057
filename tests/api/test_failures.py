"""Which rank failed first and how, from what ranks, logs and clusters left behind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.folder.rank_failure import RankFailure, RankRoster
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import FailureKind
from contract.lifecycle.state import State
from store.session import transaction
from store.tables.runs import Run
from tests.testing.api import SPEC, post
from tests.testing.stored_runs import add_job, current_job, end_attempt, move

TRACE = """Traceback (most recent call last):
  File "trainers/ranks/rank_process.py", line 30, in live
    engine.train(folder)
  File "trainers/data/images/image_folder.py", line 57, in batch
    raise OSError("the disk is gone")
OSError: the disk is gone
"""
FROM_SRUN = """0: epoch 1, step 22: held-out loss 2.1, accuracy 30.00%
srun: error: gpu2: task 2: Killed
srun: launch/slurm: _step_signal: Terminating StepId=77.0
slurmstepd: error: *** STEP 77.0 ON gpu1 CANCELLED AT 2026-11-21T17:00:00 ***
srun: error: gpu1: tasks 0-1: Exited with exit code 1
"""

Fail = Callable[..., Any]


@pytest.fixture
def folder(client: TestClient, sqlite_engine: Engine, tmp_path: Path) -> RunFolder:
    """Of the one run that there is, in its first attempt on two hosts of two ranks."""
    post(client, SPEC)
    with transaction(sqlite_engine) as db:
        run = db.get_one(Run, 1)
        for state in (State.SUBMITTING, State.PENDING, State.RUNNING):
            move(db, run, state)
        current_job(db, run).hosts = ["gpu1", "gpu2"]
    folder = RunFolder.of(tmp_path / "runs", 1, run.key)
    (folder.path / "attempts").mkdir(parents=True)
    folder.log.touch()
    folder.write_roster(1, RankRoster(hosts=["gpu1", "gpu1", "gpu2", "gpu2"], ahead_s=[0.0, 0.0, 300.0, 300.0]))
    return folder


@pytest.fixture
def fail(client: TestClient, sqlite_engine: Engine) -> Fail:
    def fail(cause: ExitCause = ExitCause.FAILURE, reason: str = "the job failed") -> Any:
        with transaction(sqlite_engine) as db:
            run = db.get_one(Run, 1)
            end_attempt(db, run, cause, reason)
            move(db, run, State.FAILED, reason)
        failure = client.get("/api/v1/runs/1").json()["failure"]
        assert client.get("/api/v1/experiments/1/failures").json()["items"][0]["failure"] == failure
        return failure

    return fail


def echo(rank: int) -> RankFailure:
    reported = f"rank {rank} on gpu1: rank 2 died: rank {rank} waited in round 3 of the collective"
    return RankFailure(at=1000.0, rank=rank, host="gpu1", reason=reported, echo=True, lost=[2], round=3)


def test_a_rank_that_says_why_is_believed_though_its_clock_goes_ahead(folder: RunFolder, fail: Fail) -> None:
    folder.write_rank_failure(1, echo(0))
    folder.write_rank_failure(
        1, RankFailure(at=1299.5, rank=2, host="gpu2", reason="rank 2 on gpu2: OSError", trace=TRACE)
    )
    answer = fail()
    assert (answer["kind"], answer["rank"], answer["host"], answer["source"]) == ("python_error", 2, "gpu2", "rank 2")
    assert answer["evidence"].splitlines() == [
        'File "trainers/data/images/image_folder.py", line 57, in batch',
        '  raise OSError("the disk is gone")',
        "OSError: the disk is gone",
    ]
    assert [(fall["rank"], fall["echo"]) for fall in answer["falls"]] == [(2, False), (0, True)]
    assert answer["at"].startswith("1970-01-01T00:16:39.5")


def test_of_a_rank_that_was_killed_srun_and_its_peers_tell(folder: RunFolder, fail: Fail) -> None:
    folder.write_rank_failure(1, echo(0))
    folder.write_rank_failure(1, echo(1))
    folder.log.write_text(FROM_SRUN)
    answer = fail()
    assert (answer["kind"], answer["rank"], answer["host"], answer["round"]) == ("signal", 2, "gpu2", 3)
    assert (answer["evidence"], answer["source"]) == ("srun: error: gpu2: task 2: Killed", "the log")


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("line", "kind", "rank"),
    [
        ("srun: error: gpu2: task 3: Out Of Memory", "out_of_memory", 3),
        ("2: slurmstepd: error: Detected 1 oom_kill event in StepId=77.0.", "out_of_memory", 2),
        ("srun: error: Node failure on gpu2", "node_failure", None),
        ("srun: error: gpu2: task 3: Segmentation fault (core dumped)", "signal", 3),
        ("1: slurmstepd-gpu1: error: execve(): /opt/no/python: No such file or directory", "wrong_environment", 1),
        ("/var/spool/slurm/job00077/slurm_script: line 21: module: command not found", "wrong_environment", None),
        ("0: /usr/bin/python3: No module named trainers", "wrong_environment", 0),
        ("0: ModuleNotFoundError: No module named 'pydantic'", "wrong_environment", 0),
        ("3: torch.AcceleratorError: CUDA error: unspecified launch failure", "python_error", 3),
        (
            "slurmstepd: error: *** JOB 77 ON gpu1 CANCELLED AT 2026-11-21T17:00 DUE TO TIME LIMIT ***",
            "time_limit",
            None,
        ),
        ("srun: error: gpu1: task 0: Exited with exit code 2", "unknown", 0),
    ],
)
def test_where_no_rank_left_a_word_the_log_tells(
    folder: RunFolder, fail: Fail, line: str, kind: str, rank: int | None
) -> None:
    folder.log.write_text(f"0: epoch 1\n{line}\nsrun: error: gpu1: task 0: Exited with exit code 1\n")
    answer = fail()
    assert (answer["kind"], answer["rank"], answer["evidence"]) == (kind, rank, line)


def test_a_plain_exit_status_is_shown_with_the_last_lines_of_the_rank(folder: RunFolder, fail: Fail) -> None:
    """A program that argparse refuses leaves with status 2, and no pattern knows its line."""
    left = RankFailure(at=1000.0, rank=1, host="gpu1", reason="left with status 2", kind=FailureKind.UNKNOWN)
    folder.write_rank_failure(1, left)
    folder.log.write_text(
        "0: waiting\n1: usage: train.py\n1: train.py: error: no --lr\n"
        "1: bigbatch: rank 1 on gpu1: left with status 2\nsrun: error: gpu1: task 1: Exited with exit code 2\n"
    )
    answer = fail()
    assert (answer["kind"], answer["rank"], answer["source"]) == ("unknown", 1, "the end of the log")
    assert answer["evidence"] == "usage: train.py\ntrain.py: error: no --lr"


def test_before_the_frame_of_a_library_stands_who_called_it(folder: RunFolder, fail: Fail) -> None:
    frames = [("/home/ada/net.py", "ctypes.CDLL(name)"), ("/usr/lib/python3.11/ctypes/__init__.py", "_dlopen(name)")]
    answer = "".join(f'  File "{path}", line 7, in load\n    {code}\n    ^^^^^\n' for path, code in frames)
    trace = f"Traceback (most recent call last):\n{answer}OSError: libcudart.so.99: cannot open shared object file\n"
    folder.write_rank_failure(1, RankFailure(at=1000.0, rank=1, host="gpu1", reason="rank 1: OSError", trace=trace))
    assert fail()["evidence"].splitlines() == [
        'File "/home/ada/net.py", line 7, in load',
        "  ctypes.CDLL(name)",
        "  ^^^^^",
        'File "/usr/lib/python3.11/ctypes/__init__.py", line 7, in load',
        "  _dlopen(name)",
        "  ^^^^^",
        "OSError: libcudart.so.99: cannot open shared object file",
    ]


def test_ranks_that_srun_ended_after_the_first_are_not_blamed(folder: RunFolder, fail: Fail) -> None:
    """A rank left with a status before all had met; srun then kills the others, which says more of a death."""
    folder.log.write_text(
        "srun: error: gpu2: task 2: Exited with exit code 7\n"
        "srun: launch/slurm: _step_signal: Terminating StepId=77.0\n"
        "0: ConnectionError: rank 1 fell before the ranks met\n"
        "srun: error: gpu1: tasks 0-1: Killed\n"
    )
    folder.write_rank_failure(
        1, RankFailure(at=1000.0, rank=0, host="gpu1", reason="rank 0: lost a connection", echo=True)
    )
    answer = fail()
    assert (answer["kind"], answer["rank"], answer["host"]) == ("unknown", 2, "gpu2")
    assert answer["evidence"] == "srun: error: gpu2: task 2: Exited with exit code 7"


def test_of_several_lines_the_one_on_the_rank_that_was_missed_counts(folder: RunFolder, fail: Fail) -> None:
    folder.write_rank_failure(1, echo(0))
    folder.log.write_text("srun: error: gpu1: task 1: Killed\nsrun: error: gpu2: tasks 1-3: Segmentation fault\n")
    answer = fail()
    assert (answer["rank"], answer["host"]) == (2, "gpu2")
    assert answer["evidence"] == "srun: error: gpu2: tasks 1-3: Segmentation fault"


def test_what_an_earlier_attempt_printed_is_no_evidence(folder: RunFolder, fail: Fail, sqlite_engine: Engine) -> None:
    folder.log.write_text(FROM_SRUN)
    (folder.path / "attempts" / "2.log").write_text(str(folder.log.stat().st_size))
    with transaction(sqlite_engine) as db:
        add_job(db, db.get_one(Run, 1), hosts=["gpu1", "gpu2"])
    answer = fail(reason="the job ended; it never began to train, see its log")
    assert (answer["attempt"], answer["kind"], answer["rank"]) == (2, "unknown", None)
    assert answer["evidence"] == "the job ended; it never began to train, see its log"


def test_a_host_that_failed_explains_the_silence_of_its_rank(folder: RunFolder, fail: Fail) -> None:
    silent = RankFailure(
        at=1000.0, rank=3, host="gpu2", reason="rank 3 said nothing", kind=FailureKind.COLLECTIVE_TIMEOUT, by=0, round=5
    )
    folder.write_rank_failure(1, silent)
    answer = fail(ExitCause.NODE_FAILURE, "a node of the job failed")
    assert (answer["kind"], answer["rank"], answer["host"], answer["round"]) == ("node_failure", 3, "gpu2", 5)
    assert (answer["evidence"], answer["source"]) == ("a node of the job failed", "local")


def test_memory_that_ran_out_explains_a_rank_that_was_killed(folder: RunFolder, fail: Fail) -> None:
    folder.write_rank_failure(
        1, RankFailure(at=1000.0, rank=1, host="gpu1", reason="rank 1: killed by SIGKILL", kind=FailureKind.SIGNAL)
    )
    folder.log.write_text("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=77.0.\n")
    assert fail()["kind"] == "out_of_memory"


@pytest.mark.ring("all")
@pytest.mark.parametrize("cause", [ExitCause.PREEMPTED, ExitCause.CANCELLED, ExitCause.SHUTDOWN])
def test_a_run_that_did_not_fail_has_no_failure(
    folder: RunFolder, client: TestClient, sqlite_engine: Engine, cause: ExitCause
) -> None:
    with transaction(sqlite_engine) as db:
        end_attempt(db, db.get_one(Run, 1), cause, "paused at step 3")
    assert client.get("/api/v1/runs/1").json()["failure"] is None
    assert client.get("/api/v1/experiments/1/failures").json() == {"items": [], "next": None}
    assert client.get("/api/v1/experiments/9/failures").status_code == 404
