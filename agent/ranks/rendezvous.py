"""The rendezvous of an attempt: the agent of rank 0 publishes MASTER_ADDR and MASTER_PORT in the run folder."""

from __future__ import annotations

import secrets
import socket
from typing import Callable

from agent.folder.run_folder import RunFolder
from runfiles import names, rendezvous
from runfiles.own_address import LOOPBACK, address_without_interface, own_address
from runfiles.rendezvous import SECRET_BYTES, Point


def publish_point(folder: RunFolder, attempt: int, *, is_one_host: bool) -> Point:
    """Choose an address and a free port of this host, and publish them for the other agents.

    Ranks of one host meet at the loopback address, which no other host reaches.
    """
    point = Point(LOOPBACK if is_one_host else _address(), _free_port())
    text = rendezvous.text_of(point, secrets.token_hex(SECRET_BYTES))
    folder.write(names.name_of(attempt, names.RENDEZVOUS), text, mode=0o600)
    return point


def await_point(folder: RunFolder, attempt: int, should_leave: Callable[[], bool]) -> Point | None:
    """Return where rank 0 listens; None if `should_leave` becomes true meanwhile. Raise TimeoutError."""
    name = names.name_of(attempt, names.RENDEZVOUS)
    return rendezvous.await_published(
        lambda: rendezvous.point_in(folder.read(name) or ""), folder.path, should_leave=should_leave
    )


def _address() -> str:
    try:
        return own_address()
    except OSError:  # a program need not use gloo, and then never looks at the variable
        return address_without_interface()


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.bind(("", 0))
        return int(sock.getsockname()[1])
