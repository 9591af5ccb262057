"""When a rank dies or stalls during a sum, all other ranks name it and the round, within the timeout.

Every collective of a run runs on its own four real ranks. All collectives run at the same time, because stalled ranks
only wait.
"""

import os
import pickle
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import torch.distributed as dist
from pydantic import TypeAdapter
from torch.distributed import FileStore  # type: ignore[attr-defined]

from contract.folder.run_folder import RunFolder
from contract.spec.choices.collectives import Collective
from tests.testing.trainers.forked_ranks import CONTEXT, on_ranks
from trainers.build.collectives import build_allreduce
from trainers.collectives.runners.timeout import backend_allreduce, neighbors
from trainers.collectives.wire.frame import DONE, Frame
from trainers.collectives.wire.group_connections import connections_of
from trainers.collectives.wire.rank_lost import RankLost
from trainers.progress.auto_choice_store import AutoChoiceStore

WORLD, VICTIM, TIMEOUT_S = 4, 2, 10.0
LATE_S = 5.0  # 44 ranks share the machine, so a report may wait for a core
SURVIVORS = [rank for rank in range(WORLD) if rank != VICTIM]
COLLECTIVES: dict[str, dict[str, Any]] = {
    "native": {"kind": "native"},
    "ring": {"kind": "ring"},
    "torus": {"kind": "torus", "rows": 2},
    "tree": {"kind": "tree"},
    "colors": {"kind": "colors", "k": 2},
    "hierarchical": {"kind": "hierarchical"},
    "halving_doubling": {"kind": "halving_doubling"},
    "server": {"kind": "server", "servers": 1},
    "servers": {"kind": "server", "servers": 4},
    "auto": {"kind": "auto"},
    "on a narrow wire": {"kind": "torus", "wire": "bfloat16"},
}
reader: TypeAdapter[Collective] = TypeAdapter(Collective)


class Report(NamedTuple):
    """The error that ended the sums of a rank."""

    message: str
    lost: list[int]
    is_unresponsive: bool
    at: float


def sum_until_failure(rank: int, folder: Path, name: str, fatal_signal: signal.Signals) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=FileStore(str(folder / "store"), WORLD), rank=rank, world_size=WORLD)
    choice_store = AutoChoiceStore(RunFolder(folder), lambda *_: None)
    choice = reader.validate_python({**COLLECTIVES[name], "timeout_s": TIMEOUT_S})
    allreduce, x_N = build_allreduce(choice, WORLD, choice_store=choice_store, nodes=2), torch.zeros(1 << 20)
    allreduce(x_N)
    dist.barrier()
    if rank == VICTIM:
        send_itself(fatal_signal, name, before=lambda: write(folder / "signalled", time.time()))
    try:
        while True:
            allreduce(x_N)
    except RankLost as error:
        write(folder / f"report-{rank}", Report(str(error), error.ranks, error.is_unresponsive, time.time()))
    time.sleep(600)  # a rank that has reported must not reveal the failure to other ranks by its exit


def send_itself(fatal_signal: signal.Signals, name: str, *, before: Callable[[], None]) -> None:
    """Send the signal in the middle of a sum: at a plan's third part, or 20 ms into the backend's sums."""

    def kill() -> None:
        before()
        os.kill(os.getpid(), fatal_signal)

    if name == "native":
        threading.Timer(0.02, kill).start()
        return
    connections = connections_of(None)
    process_frame, last_part = connections.on_frame, connections.state.received_parts + 3

    def on_frame(peer: int, frame: Frame) -> None:
        process_frame(peer, frame)
        if connections.state.received_parts == last_part:
            kill()

    connections.on_frame = on_frame  # type: ignore[method-assign]  # the test needs a signal at an exact frame


def write(path: Path, report: Any) -> None:
    draft = path.with_suffix(".draft")
    draft.write_bytes(pickle.dumps(report))
    draft.rename(path)


@pytest.fixture(scope="module", params=[signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def fatal_signal(request: pytest.FixtureRequest) -> signal.Signals:
    chosen: signal.Signals = request.param
    return chosen


@pytest.fixture(scope="module")
def folders(fatal_signal: signal.Signals, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Start the ranks of every collective; yield the folder of each collective, in which its ranks report."""
    folders = {name: tmp_path_factory.mktemp(name.replace(" ", "-")) for name in COLLECTIVES}
    ranks = [
        CONTEXT.Process(target=sum_until_failure, args=(rank, folder, name, fatal_signal))
        for name, folder in folders.items()
        for rank in range(WORLD)
    ]
    for process in ranks:
        process.start()
    try:
        yield folders
    finally:
        for process in ranks:
            process.kill()
        for process in ranks:
            process.join()


@pytest.mark.ring("all")
@pytest.mark.parametrize("name", COLLECTIVES)
def test_all_other_ranks_name_the_failed_rank_within_the_timeout(
    name: str, fatal_signal: signal.Signals, folders: dict[str, Path]
) -> None:
    """Rank 2 sends itself SIGKILL or SIGSTOP in the middle of a sum."""
    signalled_at = wait_and_read(folders[name] / "signalled")
    for rank in SURVIVORS:
        report: Report = wait_and_read(folders[name] / f"report-{rank}")
        assert report.lost == [VICTIM], (rank, report.message)
        assert re.search(rf"^rank {VICTIM} (died|did not respond).* in round \d+", report.message), report.message
        assert report.is_unresponsive == (fatal_signal == signal.SIGSTOP)
        assert report.at - signalled_at < TIMEOUT_S + LATE_S, (rank, report.at - signalled_at)


def wait_and_read(path: Path) -> Any:
    deadline = time.monotonic() + 150
    while not path.exists():
        assert time.monotonic() < deadline, f"no rank wrote {path.name}"
        time.sleep(0.02)
    return pickle.loads(path.read_bytes())


def sum_with_one_done_and_one_stalled() -> str:
    group = dist.new_group()  # whose connections stay in the middle of a sum
    # a fifth of the timeout is for a PONG, but a rank in a backend call reads frames only every quarter of a second
    allreduce, x_N = backend_allreduce(group=group, timeout_s=TIMEOUT_S / 2), torch.zeros(1000)
    allreduce(x_N)
    store, rank = dist.distributed_c10d._get_default_store(), dist.get_rank()
    if rank == 1:  # as if the backend had completed on this rank first
        connections = connections_of(group)
        for connection in connections.to.values():
            connection.send(Frame(DONE, segment=connections.state.next_segment))
    elif rank != VICTIM:
        with pytest.raises(RankLost) as caught:
            allreduce(x_N)
        store.set(f"report-{rank}", str(caught.value))
    return "; ".join(store.get(f"report-{rank}").decode() for rank in (0, 3))  # get() waits for both


@pytest.mark.ring("all")
def test_a_rank_that_is_done_is_not_taken_for_the_failed_rank() -> None:
    """Rank 1 has its sum and does other work, rank 2 never starts the sum: the other ranks must name rank 2 alone."""
    for reports in on_ranks(WORLD, sum_with_one_done_and_one_stalled):
        assert reports.count("rank 2 did not respond") == 2, reports
        assert "ranks" not in reports


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5, 8, 13, 64, 100])
def test_neighbors_are_mutual_and_a_report_reaches_all_ranks_in_log_n_steps(world: int) -> None:
    all_neighbors = {rank: neighbors(rank, world) for rank in range(world)}
    assert all(rank in all_neighbors[peer] for rank in all_neighbors for peer in all_neighbors[rank])
    reached, steps = {0}, 0
    while len(reached) < world:
        reached, steps = reached | {peer for rank in reached for peer in all_neighbors[rank]}, steps + 1
    assert steps <= (world - 1).bit_length()
