"""The rendezvous of an attempt's ranks: rank 0 opens a store, and publishes its address and a secret in the run folder.

All ranks share the run folder, and only their user can read the file with the secret. Every attempt has its own.
"""

import json
import os
import secrets
import sys
import time
from datetime import timedelta
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore  # type: ignore[attr-defined]  # not in torch's __all__

from contract.folder.rank_failure import RankRoster
from contract.folder.rendezvous_point import RendezvousPoint
from contract.folder.run_folder import RunFolder
from runfiles.own_address import LOOPBACK, own_address
from runfiles.rendezvous import TIMEOUT_S, await_published
from trainers.collectives.open_files import choose_mesh, raise_open_files, report_short
from trainers.collectives.wire.address import use_reachable_address
from trainers.collectives.wire.group_secret import register_secret
from trainers.collectives.wire.handshake import SECRET_BYTES, Identity
from trainers.ranks.device import agree_on_device, group_backend
from trainers.ranks.rank_info import RankInfo
from trainers.ranks.rank_store import protocol
from trainers.ranks.rank_store.client import RankStore
from trainers.ranks.rank_store.server import StoreServer

COLLECTIVE_TIMEOUT_S = 1800  # a collective that takes longer has lost a rank without an error
SCAN_AFTER_S, SCAN_SLOWER = 0.5, 2  # a search for failed ranks lists a folder of all ranks, so it is rarer still

# torch holds only the C++ part of a store, and fails when it calls a method of a Python part that is gone
_STORES: "WeakKeyDictionary[dist.ProcessGroup, RankStore]" = WeakKeyDictionary()


def join_process_group(folder: RunFolder, attempt: int, rank_info: RankInfo, *, device: torch.device) -> RankStore:
    """Join torch's process group of all ranks; return the store that all ranks share.

    Raise DeviceError on every rank if the ranks' devices do not fit together, and OSError on rank 0 if its limit of
    open files is too low for the store.
    """
    is_short_of_files = raise_open_files(rank_info.rank, rank_info.world)
    if rank_info.address == LOOPBACK:
        # otherwise gloo, NCCL and the ranks' own connections would listen where other hosts reach them, and gloo fails
        # where the host's name leads to no address of its own, as on a laptop
        for library in ("GLOO", "NCCL"):
            os.environ[f"{library}_SOCKET_IFNAME"] = "lo" if sys.platform == "linux" else "lo0"
    point = _serve_store(folder, attempt, rank_info) if rank_info.rank == 0 else await_point(folder, attempt)
    if rank_info.address != LOOPBACK:
        use_reachable_address(point.host)
    secret = bytes.fromhex(point.secret)
    identity = Identity(secret, protocol.PURPOSE, rank_info.rank)
    store = RankStore((point.host, point.port), identity, timeout_s=TIMEOUT_S)
    if is_short_of_files:
        report_short(store)
    agree_on_device(store, rank_info, device)  # before the group, because a group's ranks need the same backend
    choose_mesh(store)  # rank 0 has heard every rank, so all ranks see the same
    dist.init_process_group(
        group_backend(device),
        store=PrefixStore("group", store),
        rank=rank_info.rank,
        world_size=rank_info.world,
        timeout=timedelta(seconds=COLLECTIVE_TIMEOUT_S),
    )
    assert dist.group.WORLD is not None
    _STORES[dist.group.WORLD] = store
    register_secret(secret)
    return store


def exchange_hosts(folder: RunFolder, attempt: int, store: RankStore, rank_info: RankInfo) -> list[str]:
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


def _serve_store(folder: RunFolder, attempt: int, rank_info: RankInfo) -> RendezvousPoint:
    """Serve the ranks' store at the address by which other ranks reach this rank, and publish the address."""
    secret = secrets.token_bytes(SECRET_BYTES)
    host = LOOPBACK if rank_info.address == LOOPBACK else own_address()
    server = StoreServer(host, secret, world=rank_info.world)
    point = RendezvousPoint(host=host, port=server.port, secret=secret.hex())
    folder.write_rendezvous(attempt, point)
    return point


def await_point(folder: RunFolder, attempt: int) -> RendezvousPoint:
    """Wait until rank 0 has published its address.

    Raise TimeoutError after TIMEOUT_S, and ConnectionError if a rank has failed.
    """
    scan_at_s = SCAN_AFTER_S

    def scan(waited_s: float) -> None:
        nonlocal scan_at_s
        if waited_s >= scan_at_s:
            if failed := folder.list_failed_ranks(attempt):
                raise ConnectionError(f"rank {failed[0]} failed before the rendezvous of the ranks")
            scan_at_s = SCAN_SLOWER * waited_s

    point = await_published(lambda: folder.read_rendezvous(attempt), folder.path, on_miss=scan)
    assert point is not None  # no rank leaves before
    return point
