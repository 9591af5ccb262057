"""A rank that dies or stalls in the middle of a sum: the others say which one and in which round, and soon.

Every collective that a run can ask for, on four real ranks of its own; all of them at once, as stalled ranks only wait.
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
from trainers.build.collectives import allreduce as built
from trainers.collectives.runners.timeout import neighbors, watched
from trainers.collectives.wire.frame import DONE, Frame
from trainers.collectives.wire.group_connections import mesh_of
from trainers.collectives.wire.rank_lost import RankLost
from trainers.progress.auto_choice_store import Kept

WORLD, VICTIM, TIMEOUT_S = 4, 2, 10.0
LATE_S = 5.0  # 44 ranks share the machine: who has to say it has to wait for its turn
OTHERS = [rank for rank in range(WORLD) if rank != VICTIM]
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


class Word(NamedTuple):
    """What a rank said when its sum broke."""

    message: str
    lost: list[int]
    is_silent: bool
    at: float


def sum_until_it_breaks(rank: int, folder: Path, name: str, blow: signal.Signals) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=FileStore(str(folder / "store"), WORLD), rank=rank, world_size=WORLD)
    kept = Kept(RunFolder(folder), lambda *_: None)
    choice = reader.validate_python({**COLLECTIVES[name], "timeout_s": TIMEOUT_S})
    allreduce, x_N = built(choice, WORLD, kept=kept, nodes=2), torch.zeros(1 << 20)
    allreduce(x_N)
    dist.barrier()
    if rank == VICTIM:
        strike_oneself(name, lambda: note(folder / "struck", time.time()), blow)
    try:
        while True:
            allreduce(x_N)
    except RankLost as error:
        note(folder / f"said-{rank}", Word(str(error), error.ranks, error.is_silent, time.time()))
    time.sleep(600)  # a rank that has reported must not help the others by leaving


def strike_oneself(name: str, before: Callable[[], None], blow: signal.Signals) -> None:
    """Let the blow fall in the middle of a sum: with a plan's third part, or 20 ms into the backend's sums."""

    def strike() -> None:
        before()
        os.kill(os.getpid(), blow)

    if name == "native":
        threading.Timer(0.02, strike).start()
        return
    mesh = mesh_of(None)
    take_in, at = mesh.arrived, mesh.arrivals + 3

    def arrived(peer: int, frame: Frame) -> None:
        take_in(peer, frame)
        if mesh.arrivals == at:
            strike()

    mesh.arrived = arrived  # type: ignore[method-assign]


def note(path: Path, said: Any) -> None:
    draft = path.with_suffix(".draft")
    draft.write_bytes(pickle.dumps(said))
    draft.rename(path)


@pytest.fixture(scope="module", params=[signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def blow(request: pytest.FixtureRequest) -> signal.Signals:
    struck: signal.Signals = request.param
    return struck


@pytest.fixture(scope="module")
def fields(blow: signal.Signals, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """A folder for each collective, in which its ranks say how their sum broke."""
    folders = {name: tmp_path_factory.mktemp(name.replace(" ", "-")) for name in COLLECTIVES}
    ranks = [
        CONTEXT.Process(target=sum_until_it_breaks, args=(rank, folder, name, blow))
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


@pytest.mark.parametrize("name", COLLECTIVES)
def test_all_others_name_a_lost_rank_within_the_time_out(
    name: str, blow: signal.Signals, fields: dict[str, Path]
) -> None:
    """SIGKILL and SIGSTOP, by which rank 2 strikes itself in the middle of a sum."""
    struck = read(fields[name] / "struck")
    for rank in OTHERS:
        word: Word = read(fields[name] / f"said-{rank}")
        assert word.lost == [VICTIM], (rank, word.message)
        assert re.search(rf"^rank {VICTIM} (died|said nothing).* in round \d+", word.message), word.message
        assert word.is_silent == (blow == signal.SIGSTOP)
        assert word.at - struck < TIMEOUT_S + LATE_S, (rank, word.at - struck)


def read(path: Path) -> Any:
    until = time.monotonic() + 150
    while not path.exists():
        assert time.monotonic() < until, f"{path.name} never came"
        time.sleep(0.02)
    return pickle.loads(path.read_bytes())


def one_is_done_and_one_is_lost() -> str:
    group = dist.new_group()  # which stays in the middle of a sum
    # a fifth of the time-out is for an answer, and who waits for the backend looks every quarter of a second only
    allreduce, x_N = watched(group=group, timeout_s=TIMEOUT_S / 2), torch.zeros(1000)
    allreduce(x_N)
    store, rank = dist.distributed_c10d._get_default_store(), dist.get_rank()
    if rank == 1:  # as if its part of the backend's work had come to an end before the others'
        mesh = mesh_of(group)
        for line in mesh.lines.values():
            line.post(Frame(DONE, segment=mesh.next_segment))
    elif rank != VICTIM:
        with pytest.raises(RankLost) as caught:
            allreduce(x_N)
        store.set(f"said-{rank}", str(caught.value))
    return "; ".join(store.get(f"said-{rank}").decode() for rank in (0, 3))  # waits for both


def test_a_rank_that_is_done_is_not_taken_for_the_one_that_is_lost() -> None:
    """Rank 1 has its sum and does other work, rank 2 never comes to it: the others must blame rank 2 alone."""
    for said in on_ranks(WORLD, one_is_done_and_one_is_lost):
        assert said.count("rank 2 said nothing") == 2, said
        assert "ranks" not in said


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5, 8, 13, 64, 100])
def test_whoever_is_watched_watches_and_a_loss_is_known_to_all_within_log_n_steps(world: int) -> None:
    watch = {rank: neighbors(rank, world) for rank in range(world)}
    assert all(rank in watch[peer] for rank in watch for peer in watch[rank])
    known, steps = {0}, 0
    while len(known) < world:
        known, steps = known | {peer for rank in known for peer in watch[rank]}, steps + 1
    assert steps <= (world - 1).bit_length()
