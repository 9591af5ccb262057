"""A rank that dies or stalls in the middle of a sum: the others say which one and in which round, and soon.

Forced by SIGKILL and SIGSTOP on one of four real ranks while the vector is under way.
"""

import os
import pickle
import re
import signal
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch.distributed import FileStore  # type: ignore[attr-defined]

from tests.trainers.ranks import CONTEXT
from trainers.collectives import ring, torus
from trainers.collectives.runner import Allreduce, follow
from trainers.collectives.watched import watched

WORLD, VICTIM, TIMEOUT_S = 4, 2, 4.0


def bound(algorithm: str) -> Allreduce:
    ranks = range(WORLD)
    match algorithm:
        case "ring":
            return follow(ring.allreduce(ranks, ranks), chunks=WORLD, timeout_s=TIMEOUT_S)
        case "torus":
            return follow(torus.allreduce(ranks, ranks, rows=2), chunks=WORLD, timeout_s=TIMEOUT_S)
        case _:
            return watched(timeout_s=TIMEOUT_S)


def sum_until_it_breaks(rank: int, folder: Path, algorithm: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=FileStore(str(folder / "store"), WORLD), rank=rank, world_size=WORLD)
    allreduce, x_N = bound(algorithm), torch.zeros(1 << 20)
    allreduce(x_N)
    (folder / f"ready-{rank}").touch()
    try:
        while True:
            allreduce(x_N)
    except ConnectionError as error:
        said = (str(error), getattr(error, "ranks", None), time.time())
        (folder / f"part-{rank}").write_bytes(pickle.dumps(said))
        (folder / f"part-{rank}").rename(folder / f"said-{rank}")
    time.sleep(60)  # a rank that has reported must not help the others by leaving


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
@pytest.mark.parametrize("algorithm", ["ring", "torus", "native"])
def test_all_others_name_a_lost_rank_within_the_time_out(algorithm: str, blow: signal.Signals, tmp_path: Path) -> None:
    ranks = [CONTEXT.Process(target=sum_until_it_breaks, args=(rank, tmp_path, algorithm)) for rank in range(WORLD)]
    for rank in ranks:
        rank.start()
    try:
        await_files(tmp_path, "ready", range(WORLD), patience_s=60)
        time.sleep(0.3)
        struck, victim = time.time(), ranks[VICTIM].pid
        assert victim is not None
        os.kill(victim, blow)
        others = [rank for rank in range(WORLD) if rank != VICTIM]
        await_files(tmp_path, "said", others, patience_s=3 * TIMEOUT_S)
        for rank in others:
            message, lost, at = pickle.loads((tmp_path / f"said-{rank}").read_bytes())
            assert lost == [VICTIM], (rank, message)
            assert re.search(rf"rank {VICTIM} (died|said nothing).* in round \d+", message), message
            assert at - struck < TIMEOUT_S + 1, (rank, at - struck)
    finally:
        for rank in ranks:
            rank.kill()
            rank.join()


def await_files(folder: Path, name: str, ranks: "list[int] | range", *, patience_s: float) -> None:
    until = time.monotonic() + patience_s
    while missing := [rank for rank in ranks if not (folder / f"{name}-{rank}").exists()]:
        assert time.monotonic() < until, f"ranks {missing} are not {name}"
        time.sleep(0.02)
