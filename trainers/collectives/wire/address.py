"""The IPv4 address at which the ranks of other hosts connect to this rank."""

import os
import socket
from contextlib import suppress

from runfiles import own_address


def use_reachable_address(master: str) -> None:
    """Let this rank listen where the ranks of other hosts reach it, as rank 0 at `master` is reached.

    Where the host name is a loopback address, gloo would listen there and fail with ranks of several hosts, so this
    names the interface to gloo. An interface and a MASTER_ADDR that the user has set stay.
    """
    os.environ.setdefault("MASTER_ADDR", master)
    if os.environ.get("GLOO_SOCKET_IFNAME") or not own_address.address_of_host_name().startswith("127."):
        return
    if (interface := _interface_of(own_address.own_address())) is not None:
        os.environ["GLOO_SOCKET_IFNAME"] = interface


def _interface_of(address: str) -> str | None:
    for _, interface in socket.if_nameindex():
        with suppress(OSError):  # an interface without an IPv4 address
            if own_address.address_of(interface) == address:
                return interface
    return None
