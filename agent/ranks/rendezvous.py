"""The rendezvous of an attempt: the agent of rank 0 publishes MASTER_ADDR and MASTER_PORT in the run folder.

The file has the format of contract/folder/rendezvous_point.py. Only the user of the job can read it.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import struct
import time
from typing import Callable, NamedTuple

from agent.folder.run_folder import RunFolder

TIMEOUT_S = 300.0  # Slurm may start the agents of a large job minutes apart
FIRST_POLL_S, POLL_S = 0.002, 0.05
LOOPBACK = "127.0.0.1"
SIOCGIFADDR = 0x8915  # Linux: the IPv4 address of an interface


class Point(NamedTuple):
    """The address at which rank 0 listens."""

    host: str
    port: int


def publish_point(folder: RunFolder, attempt: int, *, is_one_host: bool) -> Point:
    """Choose an address and a free port of this host, and publish them for the other agents.

    Ranks of one host meet at the loopback address, which no other host reaches.
    """
    point = Point(LOOPBACK if is_one_host else own_address(), _free_port())
    record = {"host": point.host, "port": point.port, "secret": secrets.token_hex(32)}
    folder.write(f"{attempt}.rendezvous", json.dumps(record), mode=0o600)
    return point


def await_point(folder: RunFolder, attempt: int, should_leave: Callable[[], bool]) -> Point | None:
    """Return where rank 0 listens; None if `should_leave` becomes true meanwhile. Raise TimeoutError."""
    deadline, poll_s = time.monotonic() + TIMEOUT_S, FIRST_POLL_S
    while not should_leave():
        try:
            record = json.loads(folder.read(f"{attempt}.rendezvous") or "")
            return Point(str(record["host"]), int(record["port"]))
        except (ValueError, KeyError, TypeError):
            pass
        if time.monotonic() > deadline:
            raise TimeoutError(f"rank 0 has published no address in {folder.path} within {TIMEOUT_S:g} s")
        time.sleep(poll_s)
        poll_s = min(2 * poll_s, POLL_S)  # agents of one host start together; other hosts may take minutes
    return None


def own_address() -> str:
    """Return the IPv4 address at which other hosts reach this one.

    It is the address of the interface in GLOO_SOCKET_IFNAME, or else of the host name, as gloo does. Where the host
    name resolves to a loopback address (Debian: 127.0.1.1), it is the address that routes to srun's host.
    """
    interface = os.environ.get("GLOO_SOCKET_IFNAME")
    if interface and (address := _address_of(interface.split(",")[0])):
        return address
    try:
        address = socket.gethostbyname(socket.gethostname())
    except OSError:
        address = LOOPBACK
    launch_host = os.environ.get("SLURM_LAUNCH_NODE_IPADDR")
    return _address_facing(launch_host) if address.startswith("127.") and launch_host else address


def _address_of(interface: str) -> str | None:
    try:
        import fcntl

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            request = struct.pack("256s", interface.encode()[:15])
            return socket.inet_ntoa(fcntl.ioctl(sock.fileno(), SIOCGIFADDR, request)[20:24])
    except (OSError, ImportError):
        return None


def _address_facing(other: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((other, 9))  # on UDP, connect() sends no packet: the kernel only selects a route
        except OSError:
            return LOOPBACK
        return str(sock.getsockname()[0])


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.bind(("", 0))
        return int(sock.getsockname()[1])
