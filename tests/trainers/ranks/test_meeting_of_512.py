"""The meeting of 512 ranks and the end after a failure: the operations on shared files that each rank makes.

512 threads of one process take the place of the ranks. They run the code of a rank from the claim of its attempt to the
roster of the hosts, and the code that records a failure; the process group alone is left out.
"""

import os
import resource
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from contract.folder.rank_failure import RankFailure
from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import FailureKind
from runfiles.claim import claim_attempt
from tests.testing.trainers.jobs import prepare
from trainers import job
from trainers.collectives.wire.rank_lost import RankLost
from trainers.ranks import rank_failures, rendezvous
from trainers.ranks.rank_info import RankInfo

WORLD = 512
LATE_S = 4.0  # rank 0 starts so long after the others, and the cause of the failure is recorded so late
WATCHED = {"open", "os.scandir", "os.listdir", "os.rename", "os.link", "os.remove", "os.mkdir", "os.utime"}
STATS = ("stat", "lstat")


class Operations:
    """Counts the operations on files below a folder by thread; each thread has its rank's name.

    Operations relative to an open folder have a bare name, so all operations of a rank's thread count, except those on
    other absolute paths.
    """

    def __init__(self, folder: Path) -> None:
        self.of_rank: Counter[int] = Counter()
        self._folder, self.is_on = str(folder), True
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.is_on and event in WATCHED:
            self.count(arguments[0])

    def count(self, path: object) -> None:
        rank = RANK_OF_THREAD.get(threading.get_ident())
        if rank is not None and (not str(path).startswith("/") or str(path).startswith(self._folder)):
            self.of_rank[rank] += 1


RANK_OF_THREAD: dict[int, int] = {}


@contextmanager
def counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Operations]:
    operations = Operations(folder)
    for name in STATS:  # Python audits no stat
        real: Callable[..., os.stat_result] = getattr(os, name)

        def noting(path: Any, *arguments: Any, _real: Callable[..., os.stat_result] = real, **named: Any) -> Any:
            operations.count(path)
            return _real(path, *arguments, **named)

        monkeypatch.setattr(os, name, noting)
    yield operations
    operations.is_on = False
    monkeypatch.undo()


def on_threads(do: Callable[[int], Any]) -> list[Any]:
    """Call do(rank) for all ranks at once; return the results."""

    def run(rank: int) -> Any:
        RANK_OF_THREAD[threading.get_ident()] = rank
        return do(rank)

    with ThreadPoolExecutor(WORLD) as threads:
        return [future.result() for future in [threads.submit(run, rank) for rank in range(WORLD)]]


def info_of(rank: int) -> RankInfo:
    return RankInfo(rank, WORLD, rank % 8, 8, host=f"host{rank // 8}", address="127.0.0.1")


def meet(folder: RunFolder, rank: int) -> tuple[list[str], float]:
    """Do what a rank of Slurm does until it has met the others; return the hosts and the seconds."""
    start = time.monotonic()
    if rank == 0:
        time.sleep(LATE_S)
    job.wait_for_spec(folder, timeout_s=60.0)
    folder.read_spec()
    claim_attempt(folder, 1, job="17")
    store = rendezvous.join_process_group(folder, 1, info_of(rank), device=torch.device("cpu"))
    return rendezvous.exchange_hosts(folder, 1, store, info_of(rank)), time.monotonic() - start


def without_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out gloo's group, whose mesh of 512 ranks would be 262,144 connections in this process."""
    group = nn.Module()  # something that a weak reference can have
    left_out = SimpleNamespace(
        init_process_group=lambda *_, **__: None, all_reduce=lambda *_: None, group=SimpleNamespace(WORLD=group)
    )
    monkeypatch.setattr(rendezvous, "dist", left_out)
    monkeypatch.setattr(rendezvous, "_STORES", {})
    monkeypatch.setattr(rendezvous, "register_secret", lambda _: None)
    monkeypatch.setattr(rendezvous, "choose_mesh", lambda _: False)


@pytest.fixture
def many_files() -> Iterator[None]:
    """Both ends of all connections are in this process."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 8192 if before[1] < 0 else min(8192, before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(most, before[0]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.ring("all")
@pytest.mark.usefixtures("many_files")
def test_a_meeting_of_512_ranks_costs_each_a_constant_number_of_operations_on_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ranks wait seconds for rank 0, as Slurm may start it last."""
    folder = prepare(tmp_path / "run", batch=512, resources={"kind": "local", "ranks_per_node": 128})
    without_group(monkeypatch)
    with counted(tmp_path, monkeypatch) as operations:
        found = on_threads(lambda rank: meet(folder, rank))
    assert found[0][0] == [f"host{rank // 8}" for rank in range(WORLD)]
    seconds = max(seconds for _, seconds in found)
    assert seconds > LATE_S
    most = max(operations.of_rank.values())
    assert len(operations.of_rank) == WORLD, "every rank is counted"
    # a claim and the spec, 20 looks for rank 0 within the first seconds, then one a second; each opens two folders
    assert most <= 4 * (25 + seconds), operations.of_rank.most_common(3)


def fail(folder: RunFolder, rank: int) -> tuple[RankFailure, float]:
    """Fail as a rank does: rank 7 with the cause, after a while, and the others because their connections broke."""
    start = time.monotonic()
    if rank == 7:
        time.sleep(LATE_S / 2)
        error: Exception = ValueError("a bad sample")
    else:
        error = RankLost("rank 7 died: waited in round 3", [7], in_round=3)
    return rank_failures.record_failure(folder, 1, info_of(rank), error), time.monotonic() - start


@pytest.mark.ring("all")
def test_the_wait_for_the_cause_of_a_failure_costs_each_of_512_ranks_a_few_operations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every rank used to read the records of all ranks, 50 times a second."""
    folder = prepare(tmp_path / "run", batch=512, resources={"kind": "local", "ranks_per_node": 128})
    monkeypatch.setattr(rank_failures, "CAUSE_TIMEOUT_S", 60.0)  # 512 threads of a busy machine are slow
    with counted(tmp_path, monkeypatch) as operations:
        found = on_threads(lambda rank: fail(folder, rank))
    first, _ = found[0]
    assert (first.rank, first.kind, first.echo) == (7, FailureKind.PYTHON_ERROR, False)
    seconds = max(seconds for _, seconds in found)
    of_rank = operations.of_rank
    assert len(of_rank) == WORLD
    assert max(of_rank[rank] for rank in range(1, WORLD)) <= 4 * (20 + seconds)
    # rank 0 alone reports the failure, and reads each record once
    assert of_rank[0] <= 4 * (20 + seconds) + 3 * WORLD
    assert len(folder.read_rank_failures(1)) == WORLD
