"""How the ranks of one attempt find each other: rank 0 opens a store and writes its address into the run folder."""

import json
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore, Store, TCPStore  # type: ignore[attr-defined]

from contract.folder.rank_failure import Roll
from contract.folder.run_folder import RunFolder
from trainers.ranks.rank_info import Place

MEETING_S = 300  # Slurm may start the ranks of a large job minutes apart
SILENCE_S = 1800  # a collective that takes longer has lost a rank without a word
POLL_S = 0.05


def meet(folder: RunFolder, attempt: int, place: Place, *, device: torch.device) -> Store:
    """Make this rank part of its world; return the store that all ranks share."""
    if place.address == "127.0.0.1":
        # gloo would look this machine's name up, which on a laptop may lead anywhere
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo" if sys.platform == "linux" else "lo0")
    store = _open(folder, attempt, place) if place.rank == 0 else _find(folder, attempt, place)
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo",
        store=PrefixStore("group", store),
        rank=place.rank,
        world_size=place.world,
        timeout=timedelta(seconds=SILENCE_S),
    )
    return store


def call_the_roll(folder: RunFolder, attempt: int, store: Store, place: Place) -> list[str]:
    """Let every rank say its host and its time; only rank 0, who writes them down, waits for all, and has the hosts.

    All leave a sum within milliseconds of each other, so their clocks differ by what they say right after it.
    """
    dist.all_reduce(torch.zeros(1))
    store.set(f"rank/{place.rank}", json.dumps([place.host, time.time()]))
    if place.rank:
        return []
    told = [json.loads(store.get(f"rank/{rank}")) for rank in range(place.world)]
    roll = Roll(hosts=[host for host, _ in told], ahead_s=[at - told[0][1] for _, at in told])
    folder.note_roll(attempt, roll)
    return roll.hosts


def _open(folder: RunFolder, attempt: int, place: Place) -> Store:
    # port 0: the system picks a free one, so two jobs on one node never collide
    store = TCPStore(place.address, 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=MEETING_S))
    folder.publish_address(attempt, f"{place.address}:{store.port}")
    return store


def _find(folder: RunFolder, attempt: int, place: Place) -> Store:
    deadline = time.monotonic() + MEETING_S
    while (address := folder.read_address(attempt)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"rank 0 has published no address in {folder.path} within {MEETING_S} s")
        if falls := folder.falls(attempt):
            raise ConnectionError(f"rank {falls[0].rank} fell before the ranks met")
        time.sleep(POLL_S)
    host, _, port = address.rpartition(":")
    return TCPStore(host, int(port), is_master=False, timeout=timedelta(seconds=MEETING_S))
