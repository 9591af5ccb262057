"""The records and the end of a job after a failure. Each docstring states the failure that the test forces."""

import math
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from contract.folder.events import Failed, Paused, Points
from contract.folder.rank_failure import RankFailure
from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import FailureKind
from tests.testing.trainers.jobs import events, finish, group, losses, prepare, ranks_of, start, until
from trainers.collectives.wire.rank_lost import RankLost
from trainers.ranks import rank_failures, rank_info
from trainers.rules.centers.center_protocol import connect_to_center

ENDLESS = 100_000  # epochs
STALL_S = 6.0  # a busy machine may delay a working rank for seconds


def endless(path: Path, **choices: Any) -> RunFolder:
    return prepare(path, epochs=ENDLESS, **choices)


@pytest.mark.ring("all")
def test_a_killed_rank_ends_the_job_and_is_reported(tmp_path: Path) -> None:
    """SIGKILL to rank 2, as the kernel sends when memory runs out: the rank cannot record its failure."""
    folder = endless(tmp_path / "run")
    job = start(folder)
    until(lambda: len(losses(folder)) > 2)
    ranks_of(job)[2].kill()
    status, _ = finish(job)
    assert status == 1
    fall = folder.read_rank_failures(1)[0]
    assert fall.rank == 2
    assert fall.reason.endswith("killed by SIGKILL")
    assert fall.kind is FailureKind.SIGNAL
    failed = events(folder)[-1]
    assert isinstance(failed, Failed)
    assert (failed.rank, failed.reason) == (2, fall.reason)
    until(lambda: not group(job.pid))


@pytest.mark.ring("all")
def test_a_rank_that_stalls_is_reported(tmp_path: Path) -> None:
    """SIGSTOP to rank 2: its process does not end, so the ranks that wait for it record its failure."""
    folder = endless(tmp_path / "run", collective={"kind": "native", "timeout_s": STALL_S})
    job = start(folder)
    until(lambda: len(losses(folder)) > 2)
    stalled = ranks_of(job)[2]
    stalled.suspend()
    until(lambda: isinstance(events(folder)[-1], Failed))
    stalled.kill()
    assert finish(job)[0] == 1
    failed = events(folder)[-1]
    assert isinstance(failed, Failed)
    assert failed.rank == 2
    assert failed.reason.startswith("rank 2 did not respond for ")
    first = folder.read_rank_failures(1)[0]
    assert (first.rank, first.kind, first.host) == (2, FailureKind.COLLECTIVE_TIMEOUT, socket.gethostname())
    assert first.round is not None
    until(lambda: not group(job.pid))


@pytest.mark.ring("all")
def test_a_rank_that_stalls_in_an_evaluation_is_reported(tmp_path: Path) -> None:
    """Rank 3 sends itself SIGSTOP before the ranks evaluate the model together."""
    folder = endless(tmp_path / "run", collective={"kind": "ring", "timeout_s": STALL_S})
    job = start(folder, environment=fail_at_evaluation(tmp_path, "os.kill(os.getpid(), signal.SIGSTOP)"))
    assert finish(job)[0] == 1
    failed = events(folder)[-1]
    assert isinstance(failed, Failed)
    assert failed.rank == 3
    assert failed.reason.startswith("rank 3 did not respond for ")
    until(lambda: not group(job.pid))


@pytest.mark.ring("all")
def test_a_rank_records_which_rank_it_lost(tmp_path: Path) -> None:
    """As on Slurm, where no parent process sees the end of the other rank: the rank records its collective's error."""
    folder = prepare(tmp_path / "run")
    lost = RankLost("rank 2 died: rank 0 waited in round 3 of the collective", [2])
    first = rank_failures.record_failure(folder, 1, rank_info.local_rank_info(0, 4), lost)
    assert first.echo
    assert first.reason.endswith(": rank 2 died: rank 0 waited in round 3 of the collective")


def test_a_reason_has_no_escape_sequences_of_a_terminal(tmp_path: Path) -> None:
    """torch makes words of some of its errors bold."""
    folder = prepare(tmp_path / "run")
    error = RuntimeError("you have two options, \x1b[1mdo those steps\x1b[0m\n only then")
    fall = rank_failures.record_failure(folder, 1, rank_info.local_rank_info(2, 4), error)
    assert fall.reason.endswith("RuntimeError: you have two options, do those steps only then")


def test_a_broken_connection_of_user_code_is_no_echo(tmp_path: Path) -> None:
    """A data set's server resets its connection in user code: no other rank has failed."""
    folder = prepare(tmp_path / "run")
    try:
        raise ConnectionResetError("Connection reset by peer")
    except ConnectionResetError as error:
        fall = rank_failures.record_failure(folder, 1, rank_info.local_rank_info(2, 4), error)
    assert (fall.rank, fall.echo) == (2, False)
    assert fall.reason.endswith("ConnectionResetError: Connection reset by peer")


def test_a_broken_connection_of_the_trainer_within_the_standard_library_is_an_echo(tmp_path: Path) -> None:
    """Rank 0's port is closed: a call of the trainer raises the error in socket.py, and the cause is awaited."""
    folder = prepare(tmp_path / "run")
    folder.write_rank_failure(
        1, RankFailure(at=0.0, rank=0, host="h", reason="killed by SIGKILL", kind=FailureKind.SIGNAL)
    )
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # so that no other process can open this port
        with pytest.raises(ConnectionRefusedError) as refused:
            connect_to_center(closed.getsockname(), b"0123456789abcdef", rank=2, timeout_s=5.0)
    own = rank_failures.record_failure(folder, 1, rank_info.local_rank_info(2, 4), refused.value)
    assert (own.rank, own.echo) == (2, True)
    assert rank_failures.record_failure(folder, 1, rank_info.local_rank_info(0, 4), refused.value).rank == 0
    assert [fall.echo for fall in folder.read_rank_failures(1)] == [False, True]


@pytest.mark.ring("all")
def test_a_rank_whose_model_calls_exit_records_it(tmp_path: Path) -> None:
    """sys.exit in a user's module, on every rank."""
    (tmp_path / "leaves_at_once.py").write_text("import sys\nsys.exit('no licence is left')\n")
    model = {"kind": "import", "function": "leaves_at_once:net"}
    folder = prepare(tmp_path / "run", model=model)
    status, _ = finish(start(folder, environment={"PYTHONPATH": str(tmp_path)}))
    assert status == 1
    assert folder.read_rank_failures(1)[0].reason.endswith("SystemExit: no licence is left")


def test_a_resumed_rank_does_not_overwrite_the_record_of_its_stall(tmp_path: Path) -> None:
    """As on Slurm, which resumes a stopped process to end it: the process finds that its peers have exited."""
    folder = prepare(tmp_path / "run")
    silent = RankLost("rank 2 did not respond for 5.0 s", [2], is_unresponsive=True, in_round=3)
    rank_failures.record_failure(folder, 1, rank_info.local_rank_info(0, 4), silent)
    first = rank_failures.record_failure(
        folder, 1, rank_info.local_rank_info(2, 4), RankLost("rank 0 died", [0], in_round=3)
    )
    assert (first.rank, first.kind, first.round) == (2, FailureKind.COLLECTIVE_TIMEOUT, 3)


@pytest.mark.ring("all")
def test_the_parent_records_that_rank_0_was_killed(tmp_path: Path) -> None:
    """SIGKILL to rank 0, which alone may write events: only the record remains."""
    folder = endless(tmp_path / "run")
    job = start(folder)
    until(lambda: len(losses(folder)) > 2)
    ranks_of(job)[0].kill()
    assert finish(job)[0] == 1
    assert folder.read_rank_failures(1)[0].rank == 0
    assert isinstance(events(folder)[-1], Points)
    until(lambda: not group(job.pid))


@pytest.mark.ring("all")
def test_no_rank_survives_a_killed_parent(tmp_path: Path) -> None:
    """SIGKILL to the parent process only."""
    folder = endless(tmp_path / "run")
    job = start(folder)
    until(lambda: len(losses(folder)) > 2)
    os.kill(job.pid, signal.SIGKILL)
    finish(job)
    until(lambda: not group(job.pid))


@pytest.mark.ring("all")
def test_a_signal_to_the_process_group_pauses_all_ranks(tmp_path: Path) -> None:
    """SIGTERM to the process group, as the scheduler sends to a local job."""
    folder = endless(tmp_path / "run")
    job = start(folder)
    until(lambda: len(losses(folder)) > 2)
    os.killpg(job.pid, signal.SIGTERM)
    assert finish(job)[0] == 4
    until(lambda: not group(job.pid))
    assert isinstance(events(folder)[-1], Paused)
    assert not any(isinstance(event, Failed) for event in events(folder))


@pytest.mark.ring("all")
def test_a_loss_that_is_not_finite_ends_the_run_and_is_located(tmp_path: Path) -> None:
    """A learning rate of 1e9 with SGD: the weights exceed float32's range within a few steps."""
    rates = {"kind": "constant", "rate": 1e9}
    folder = prepare(tmp_path / "run", optimizer={"kind": "sgd"}, schedule=rates, epochs=5)
    status, errors = finish(start(folder))
    assert status == 1
    failed = events(folder)[-1]
    assert isinstance(failed, Failed)
    assert "Diverged: at step " in failed.reason
    assert "the loss is" in failed.reason
    assert "with a learning rate of 1e+09" in failed.reason
    assert not math.isfinite(losses(folder)[-1])
    assert None not in losses(folder)[:-1]
    assert "Traceback" in errors


@pytest.mark.ring("all")
def test_the_first_failure_is_the_reason_and_not_its_echoes(tmp_path: Path) -> None:
    """Only rank 3 cannot load its data: the connections of the other ranks break."""
    folder = prepare(tmp_path / "run")
    status, _ = finish(start(folder, environment=fail_at_evaluation(tmp_path, "raise OSError('the disk is gone')")))
    assert status == 1
    failed = events(folder)[-1]
    assert isinstance(failed, Failed)
    assert failed.rank == 3
    assert "rank 3 on " in failed.reason
    assert "OSError: the disk is gone" in failed.reason
    assert "OSError" in folder.read_rank_failures(1)[0].trace


@pytest.mark.ring("all")
def test_the_first_of_two_failures_is_reported_despite_a_fast_clock(tmp_path: Path) -> None:
    """Rank 3 fails a second after rank 1, whose clock is ten minutes fast.

    The ranks compare their clocks as they leave their first sum: on a busy machine some leave it later than others.
    """
    folder = prepare(tmp_path / "run")
    first_note = str(folder.path / "attempts" / "1.rank-1.json")
    after = f"[time.sleep(0.01) for _ in iter(lambda: os.path.exists({first_note!r}), True)]; time.sleep(1)"
    environment = fail_at_evaluation(tmp_path, f"{after}; raise KeyError('second')", "raise KeyError('first')")
    with (tmp_path / "sitecustomize.py").open("a") as script:
        script.write(CLOCK_OF_RANK_1_AHEAD)
    assert finish(start(folder, environment=environment))[0] == 1
    first, second, *echoes = folder.read_rank_failures(1)
    assert ((first.rank, second.rank), [fall.echo for fall in echoes]) == ((1, 3), [True, True])
    assert 0.3 < second.at - first.at < 5
    failed = events(folder)[-1]
    assert isinstance(failed, Failed)
    assert failed.rank == 1


def fail_at_evaluation(path: Path, fault: str, fault_of_rank_1: str = "pass") -> dict[str, str]:
    """Return an environment in which ranks 3 and 1 execute statements at their first evaluation."""
    (path / "sitecustomize.py").write_text(FAULTY_RANKS.replace("FAULT_1", fault_of_rank_1).replace("FAULT_3", fault))
    return {"PYTHONPATH": str(path)}


# the processes have names before they know their ranks
CLOCK_OF_RANK_1_AHEAD = """
from multiprocessing import current_process
real = time.time
time.time = lambda: real() + (600 if current_process().name == "Process-2" else 0)
"""


FAULTY_RANKS = """
import os, signal, sys, time
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder

class Breaker(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "trainers.training.evaluation":
            return None
        spec = PathFinder.find_spec(name, path)
        load = spec.loader.exec_module
        def exec_module(module):
            load(module)
            average = module.average_statistics
            def broken(model, watch):
                if module.dist.get_rank() == 3:
                    FAULT_3
                if module.dist.get_rank() == 1:
                    FAULT_1
                average(model, watch)
            module.average_statistics = broken
        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Breaker())
"""
