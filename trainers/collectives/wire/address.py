"""Where the other ranks reach this one."""

import fcntl
import os
import socket
import struct

SIOCGIFADDR = 0x8915  # Linux: the IPv4 address of an interface


def own_address() -> str:
    """Return this host's address: of the interface that gloo is told to use, or of the host's name, as gloo has it.

    Where the name only means the machine itself (Debian's 127.0.1.1), take the address that faces MASTER_ADDR.
    """
    if interface := os.environ.get("GLOO_SOCKET_IFNAME"):
        return _address_of(interface.split(",")[0])
    try:
        address = socket.gethostbyname(socket.gethostname())
    except OSError:
        address = "127.0.0.1"
    master = os.environ.get("MASTER_ADDR")
    return _address_facing(master) if address.startswith("127.") and master else address


def _address_of(interface: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("256s", interface.encode()[:15])
        try:
            return socket.inet_ntoa(fcntl.ioctl(sock.fileno(), SIOCGIFADDR, request)[20:24])
        except OSError as error:
            raise OSError(f"GLOO_SOCKET_IFNAME names {interface!r}, which has no IPv4 address here") from error


def _address_facing(other: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((other, 9))  # sends nothing: it only asks for the route
        except OSError:
            return "127.0.0.1"
        return str(sock.getsockname()[0])
