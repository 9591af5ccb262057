"""Errors are classified by kind. The tests raise real errors of PyTorch and the operating system."""

import ctypes
import importlib
import mmap
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from contract.lifecycle.failure import FailureKind
from trainers.build.imported import call_function
from trainers.collectives.wire.handshake import Identity
from trainers.collectives.wire.rank_lost import RankLost
from trainers.ranks.error_kind import classify_error
from trainers.ranks.rank_store.client import RankStore
from trainers.ranks.rank_store.protocol import PURPOSE
from trainers.ranks.rank_store.server import StoreServer

BEYOND = 1 << 62  # bytes
SECRET = bytes(32)


def time_out_in_torch() -> None:
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=1))
    store.get("a key that no rank sets")


def time_out_in_rank_store() -> None:
    server = StoreServer("127.0.0.1", SECRET, world=1)
    try:
        RankStore(("127.0.0.1", server.port), Identity(SECRET, PURPOSE, 0), timeout_s=0.2).get(
            "a key that no rank sets"
        )
    finally:
        server.close()


def lose(rank: int, *, is_unresponsive: bool) -> None:
    raise RankLost(f"rank {rank} is lost", [rank], is_unresponsive=is_unresponsive)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (lambda: bytearray(BEYOND), FailureKind.OUT_OF_MEMORY),
        (lambda: torch.empty(BEYOND // 4), FailureKind.OUT_OF_MEMORY),
        (lambda: mmap.mmap(-1, BEYOND), FailureKind.OUT_OF_MEMORY),
        (lambda: importlib.import_module("a_module_that_nobody_has"), FailureKind.WRONG_ENVIRONMENT),
        (lambda: call_function("a_module_that_nobody_has:net"), FailureKind.WRONG_ENVIRONMENT),
        (lambda: ctypes.CDLL("liba_library_that_nobody_has.so.1"), FailureKind.WRONG_ENVIRONMENT),
        (time_out_in_torch, FailureKind.COLLECTIVE_TIMEOUT),
        (time_out_in_rank_store, FailureKind.COLLECTIVE_TIMEOUT),
        (lambda: lose(2, is_unresponsive=True), FailureKind.COLLECTIVE_TIMEOUT),
        (lambda: lose(2, is_unresponsive=False), FailureKind.PYTHON_ERROR),
        (lambda: [][0], FailureKind.PYTHON_ERROR),
        (lambda: Path("/no/such/file").read_text(), FailureKind.PYTHON_ERROR),
    ],
)
def test_an_error_has_its_kind(fault: Callable[[], object], kind: FailureKind) -> None:
    with pytest.raises((Exception, MemoryError)) as raised:
        fault()
    assert classify_error(raised.value) is kind, raised.value
