"""The IPv4 address at which other ranks connect to this rank."""

import fcntl
import os
import socket
import struct
from contextlib import suppress

OTHER_NETWORK = "192.0.2.1"  # no host has this address (RFC 5737); the route to it is the default route
SIOCGIFADDR = 0x8915  # Linux: the IPv4 address of an interface


def own_address() -> str:
    """Return the address of the interface in GLOO_SOCKET_IFNAME, or else of the host name, as gloo does.

    Where the host name resolves to a loopback address (Debian: 127.0.1.1), return the address that routes to
    MASTER_ADDR, or else to the host from which srun started the ranks, or else to other networks. Raise OSError if the
    interface in GLOO_SOCKET_IFNAME has no IPv4 address.
    """
    if interface := os.environ.get("GLOO_SOCKET_IFNAME"):
        return _address_of(interface.split(",")[0])
    address = _address_of_host_name()
    if not address.startswith("127."):
        return address
    masters = [os.environ.get(name) for name in ("MASTER_ADDR", "SLURM_LAUNCH_NODE_IPADDR")]
    facing = [_address_facing(other) for other in (*masters, OTHER_NETWORK) if other]
    return next((found for found in facing if not found.startswith("127.")), facing[0])


def use_reachable_address(master: str) -> None:
    """Let this rank listen where the ranks of other hosts reach it, as rank 0 at `master` is reached.

    Where the host name is a loopback address, gloo would listen there and fail with ranks of several hosts, so this
    names the interface to gloo. An interface and a MASTER_ADDR that the user has set stay.
    """
    os.environ.setdefault("MASTER_ADDR", master)
    if os.environ.get("GLOO_SOCKET_IFNAME") or not _address_of_host_name().startswith("127."):
        return
    if (interface := _interface_of(own_address())) is not None:
        os.environ["GLOO_SOCKET_IFNAME"] = interface


def _address_of_host_name() -> str:
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def _interface_of(address: str) -> str | None:
    for _, interface in socket.if_nameindex():
        with suppress(OSError):  # an interface without an IPv4 address
            if _address_of(interface) == address:
                return interface
    return None


def _address_of(interface: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("256s", interface.encode()[:15])
        try:
            return socket.inet_ntoa(fcntl.ioctl(sock.fileno(), SIOCGIFADDR, request)[20:24])
        except OSError as error:
            raise OSError(
                f"interface {interface!r} in GLOO_SOCKET_IFNAME has no IPv4 address on {socket.gethostname()}: "
                f"set GLOO_SOCKET_IFNAME to an interface of `ip -4 address`"
            ) from error


def _address_facing(other: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((other, 9))  # on UDP, connect() sends no packet: the kernel only selects a route
        except OSError:
            return "127.0.0.1"
        return str(sock.getsockname()[0])
