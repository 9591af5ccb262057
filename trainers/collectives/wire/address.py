"""The IPv4 address at which other ranks connect to this rank."""

import fcntl
import os
import socket
import struct

SIOCGIFADDR = 0x8915  # Linux: the IPv4 address of an interface


def own_address() -> str:
    """Return the address of the interface in GLOO_SOCKET_IFNAME, or else of the host name, as gloo does.

    Where the host name resolves to a loopback address (Debian: 127.0.1.1), return the address that routes to
    MASTER_ADDR, or else to the host from which srun started the ranks. Raise OSError if the interface in
    GLOO_SOCKET_IFNAME has no IPv4 address.
    """
    if interface := os.environ.get("GLOO_SOCKET_IFNAME"):
        return _address_of(interface.split(",")[0])
    try:
        address = socket.gethostbyname(socket.gethostname())
    except OSError:
        address = "127.0.0.1"
    master = os.environ.get("MASTER_ADDR") or os.environ.get("SLURM_LAUNCH_NODE_IPADDR")
    return _address_facing(master) if address.startswith("127.") and master else address


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
