"""The limit of open files, and gloo's mesh where the limit is too low for a connection to every rank."""

import os
import resource
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import FailureKind
from tests.testing.trainers.forked_ranks import CONTEXT
from tests.testing.trainers.jobs import HOUSE, prepare
from trainers.collectives.json_exchange import broadcast_json, gather_json
from trainers.collectives.open_files import LAZY, OTHER_FILES, PER_RANK, plan_open_files
from trainers.collectives.plans import ring
from trainers.collectives.runners.allreduce import make_allreduce
from trainers.ranks.error_kind import classify_error
from trainers.ranks.rank_info import local_rank_info
from trainers.ranks.rendezvous import join_process_group

WORLD = 6
WANTED = PER_RANK * (WORLD - 1) + OTHER_FILES


@pytest.mark.parametrize(
    ("world", "soft", "hard", "expected"),
    [
        (8, 1024, 524_288, (1024, False)),  # enough as it is
        (2048, 1024, 524_288, (PER_RANK * 2047 + OTHER_FILES, False)),  # raised to what is needed, not higher
        (2048, 1024, 4096, (4096, True)),
        (2048, 1024, 1024, (1024, True)),
        (2048, -1, -1, (-1, False)),
        (2048, 1024, -1, (PER_RANK * 2047 + OTHER_FILES, False)),
    ],
)
def test_the_soft_limit_grows_as_far_as_the_hard_one_allows(
    world: int, soft: int, hard: int, expected: tuple[int, bool]
) -> None:
    assert plan_open_files(world, soft=soft, hard=hard) == expected


def raise_in_a_process(rank: int, world: int, soft: int, hard: int) -> subprocess.CompletedProcess[str]:
    code = (
        "import resource as r; from trainers.collectives.open_files import raise_open_files; "
        f"r.setrlimit(r.RLIMIT_NOFILE, ({soft}, {hard})); "
        f"print(raise_open_files({rank}, {world}), *r.getrlimit(r.RLIMIT_NOFILE))"
    )
    return subprocess.run([sys.executable, "-c", code], cwd=HOUSE, capture_output=True, text=True)


@pytest.mark.ring("all")
def test_a_rank_raises_its_limit_and_rank_0_says_when_that_is_too_low() -> None:
    hard = 1200
    assert raise_in_a_process(1, 512, 256, hard).stdout == f"True {hard} {hard}\n"
    failed = raise_in_a_process(0, 2048, 256, hard)
    message = f"the limit of open files is {hard}, but rank 0 of 2048 ranks needs 2144"
    assert message in failed.stderr
    assert classify_error(OSError(message)) is FailureKind.WRONG_ENVIRONMENT


def meet(path: str, rank: int, is_short: bool, pipe: Connection) -> None:
    """Join the group as a rank does, use every collective that the engine uses, and send what came."""
    torch.set_num_threads(1)
    most = WANTED - 1 if is_short else WANTED
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, most))
    join_process_group(RunFolder(Path(path)), 1, local_rank_info(rank, WORLD), device=torch.device("cpu"))
    after_meeting = len(os.listdir("/proc/self/fd"))
    pipe.send(after_meeting)
    pipe.recv()  # a rank that has counted would connect to one that has not
    total_N = torch.full((100_003,), rank + 1.0)
    dist.all_reduce(total_N)
    by_plan_N = torch.full((1000,), rank + 1.0)
    ring_plan = ring.plan([[*range(WORLD)]])
    make_allreduce(ring_plan, chunks=ring_plan.chunks)(by_plan_N)
    moved_R = torch.empty(WORLD)
    dist.all_to_all_single(moved_R, 10 * torch.arange(WORLD) + torch.tensor(float(rank)))
    halves = [dist.new_group(list(half), backend="gloo") for half in (range(3), range(3, WORLD))]
    of_half = torch.tensor([rank])
    dist.all_reduce(of_half, group=halves[rank // 3])
    told = broadcast_json({"from": rank}), gather_json(rank)
    dist.barrier()
    sums = total_N.unique().tolist(), by_plan_N.unique().tolist(), moved_R.tolist(), int(of_half)
    pipe.send((os.environ.get(LAZY), after_meeting, resource.getrlimit(resource.RLIMIT_NOFILE)[0], sums, told))
    pipe.recv()


def meet_all(path: Path, short_rank: int | None) -> list[Any]:
    """Return what every rank sends, in their order."""
    folder = prepare(path, batch=252, resources={"kind": "local", "ranks_per_node": WORLD})
    pipes = [CONTEXT.Pipe() for _ in range(WORLD)]
    processes = [
        CONTEXT.Process(target=meet, args=(str(folder.path), rank, rank == short_rank, theirs))
        for rank, (_, theirs) in enumerate(pipes)
    ]
    try:
        for process in processes:
            process.start()
        for what in ("count its files", "get through the collectives"):
            for own, _ in pipes:
                assert own.poll(150), f"a rank did not {what}"
            found = [own.recv() for own, _ in pipes]
            for own, _ in pipes:
                own.send(None)
        return found
    finally:
        for process in processes:
            process.kill()
            process.join()


@pytest.mark.ring("all")
def test_where_one_rank_lacks_files_all_ranks_connect_at_the_first_message_and_sums_are_right(tmp_path: Path) -> None:
    """Forces a hard limit of open files that is one below the full mesh, on one rank of six."""
    files = []
    for short_rank in (None, 3):
        found = meet_all(tmp_path / str(short_rank), short_rank)
        for rank, (lazy, _, soft, sums, told) in enumerate(found):
            assert lazy == (None if short_rank is None else "1")
            assert soft == (WANTED - 1 if rank == short_rank else WANTED)
            moved = [10.0 * rank + source for source in range(WORLD)]
            assert sums == ([21.0], [21.0], moved, 3 if rank < 3 else 12)
            assert told == ({"from": 0}, [*range(WORLD)])
        files.append(max(after_meeting for _, after_meeting, *_ in found[1:]))
    assert files[1] <= files[0] - (WORLD - 2)
