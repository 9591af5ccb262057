"""Let torch's store listen where the ranks reach it: the TCPStore of one host on the loopback address alone.

torch lets a store listen on every address of the host, whatever MASTER_ADDR says, and anybody who reaches the port
reads and sets its keys. A store can be given a socket that listens already; old versions of torch take none.
"""

from __future__ import annotations

import functools
import os
import socket
from contextlib import suppress
from types import ModuleType
from typing import Any

LOOPBACK = ("127.0.0.1", "localhost")
ADDRESS = "127.0.0.1"
PARAMETERS = (
    "host_name",
    "port",
    "world_size",
    "is_master",
    "timeout",
    "wait_for_workers",
    "multi_tenant",
    "master_listen_fd",
    "use_libuv",
)
BACKLOG = 2048  # as torch has


def keep_on_loopback(torch: ModuleType) -> None:
    """Give a listening socket to each store that this process serves at a loopback address."""
    store: Any = torch.distributed.TCPStore
    original = store.__init__

    @functools.wraps(original)
    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        named = {**{PARAMETERS[at]: value for at, value in enumerate(args)}, **kwargs}
        is_ours = named.get("is_master") and named.get("host_name") in LOOPBACK
        listener = _listen(named.get("port")) if is_ours and named.get("master_listen_fd") is None else None
        if listener is None:
            original(self, *args, **kwargs)
            return
        # the store owns the descriptor from here on, and closes it also where it fails
        named.update(port=listener.getsockname()[1], master_listen_fd=listener.detach())
        try:
            original(self, **named)
        except TypeError:  # this version of torch takes no socket
            os.close(named["master_listen_fd"])
            original(self, *args, **kwargs)

    store.__init__ = start


def _listen(port: Any) -> socket.socket | None:
    """Return a socket that listens at the port; None if the port is in use, as by another store of this process."""
    with suppress(OSError, TypeError, OverflowError):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((ADDRESS, port))
            listener.listen(BACKLOG)
        except BaseException:
            listener.close()
            raise
        return listener
    return None
