"""The IPv4 address at which other hosts reach this one."""

from __future__ import annotations

import os
import socket
import struct

LOOPBACK = "127.0.0.1"
OTHER_NETWORK = "192.0.2.1"  # no host has this address (RFC 5737); the route to it is the default route
SIOCGIFADDR = 0x8915  # Linux: the IPv4 address of an interface


def own_address() -> str:
    """Return the address of the interface in GLOO_SOCKET_IFNAME, or else of the host name, as gloo does.

    Where the host name resolves to a loopback address (Debian: 127.0.1.1), return the address that routes to
    MASTER_ADDR, or else to the host from which srun started the ranks, or else to other networks. Raise OSError if the
    interface in GLOO_SOCKET_IFNAME has no IPv4 address.
    """
    if interface := os.environ.get("GLOO_SOCKET_IFNAME"):
        return address_of(interface.split(",")[0])
    return address_without_interface()


def address_without_interface() -> str:
    """Return the address as `own_address` does without GLOO_SOCKET_IFNAME."""
    address = address_of_host_name()
    if not address.startswith("127."):
        return address
    masters = [os.environ.get(name) for name in ("MASTER_ADDR", "SLURM_LAUNCH_NODE_IPADDR")]
    facing = [address_facing(other) for other in (*masters, OTHER_NETWORK) if other]
    return next((found for found in facing if not found.startswith("127.")), facing[0])


def address_of_host_name() -> str:
    """Return the address to which the host's name resolves."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return LOOPBACK


def address_of(interface: str) -> str:
    """Return the address of an interface; raise OSError if it has none."""
    try:
        import fcntl

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            request = struct.pack("256s", interface.encode()[:15])
            return socket.inet_ntoa(fcntl.ioctl(sock.fileno(), SIOCGIFADDR, request)[20:24])
    except (OSError, ImportError) as error:
        raise OSError(
            f"interface {interface!r} in GLOO_SOCKET_IFNAME has no IPv4 address on {socket.gethostname()}: "
            f"set GLOO_SOCKET_IFNAME to an interface of `ip -4 address`"
        ) from error


def address_facing(other: str) -> str:
    """Return this host's address on the way to another one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((other, 9))  # on UDP, connect() sends no packet: the kernel only selects a route
        except OSError:
            return LOOPBACK
        return str(sock.getsockname()[0])
