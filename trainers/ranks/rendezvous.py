"""The rendezvous of an attempt's ranks: rank 0 opens a store and writes its address into the run folder."""

import json
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore, Store, TCPStore  # type: ignore[attr-defined]  # not in torch's __all__

from contract.folder.rank_failure import RankRoster
from contract.folder.run_folder import RunFolder
from trainers.ranks.rank_info import RankInfo

RENDEZVOUS_TIMEOUT_S = 300  # Slurm may start the ranks of a large job minutes apart
COLLECTIVE_TIMEOUT_S = 1800  # a collective that takes longer has lost a rank without an error
POLL_S = 0.05


def join_process_group(folder: RunFolder, attempt: int, rank_info: RankInfo, *, device: torch.device) -> Store:
    """Join torch's process group of all ranks; return the store that all ranks share."""
    if rank_info.address == "127.0.0.1":
        # otherwise gloo resolves this machine's host name, which may lead to an unreachable address on a laptop
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo" if sys.platform == "linux" else "lo0")
    open_store = _serve_store if rank_info.rank == 0 else _connect_to_store
    store = open_store(folder, attempt, rank_info)
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo",
        store=PrefixStore("group", store),
        rank=rank_info.rank,
        world_size=rank_info.world,
        timeout=timedelta(seconds=COLLECTIVE_TIMEOUT_S),
    )
    return store


def exchange_hosts(folder: RunFolder, attempt: int, store: Store, rank_info: RankInfo) -> list[str]:
    """Collect the host and the clock of every rank at rank 0, which writes the roster; return the hosts there.

    Other ranks do not wait, and return an empty list. An all-reduce ends within milliseconds on all ranks, so the times
    that the ranks read right after it show how much their clocks differ.
    """
    dist.all_reduce(torch.zeros(1))
    store.set(f"rank/{rank_info.rank}", json.dumps([rank_info.host, time.time()]))
    if rank_info.rank:
        return []
    collected = [json.loads(store.get(f"rank/{rank}")) for rank in range(rank_info.world)]
    roster = RankRoster(hosts=[host for host, _ in collected], ahead_s=[at - collected[0][1] for _, at in collected])
    folder.write_roster(attempt, roster)
    return roster.hosts


def _serve_store(folder: RunFolder, attempt: int, rank_info: RankInfo) -> Store:
    # port 0: the system picks a free port, so two jobs on one node never collide
    timeout = timedelta(seconds=RENDEZVOUS_TIMEOUT_S)
    store = TCPStore(rank_info.address, 0, is_master=True, wait_for_workers=False, timeout=timeout)
    folder.write_address(attempt, f"{rank_info.address}:{store.port}")
    return store


def _connect_to_store(folder: RunFolder, attempt: int, rank_info: RankInfo) -> Store:
    deadline = time.monotonic() + RENDEZVOUS_TIMEOUT_S
    while (address := folder.read_address(attempt)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"rank 0 has published no address in {folder.path} within {RENDEZVOUS_TIMEOUT_S} s")
        if failures := folder.read_rank_failures(attempt):
            raise ConnectionError(f"rank {failures[0].rank} failed before the rendezvous of the ranks")
        time.sleep(POLL_S)
    host, _, port = address.rpartition(":")
    return TCPStore(host, int(port), is_master=False, timeout=timedelta(seconds=RENDEZVOUS_TIMEOUT_S))
