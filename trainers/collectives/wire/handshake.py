"""The handshake: a connecting rank proves with a secret that it belongs to the job, and sends its rank."""

import hmac
import socket
import struct
from contextlib import suppress

HANDSHAKE = struct.Struct("<16sI")  # the listening rank's secret, the connecting rank


def accept_peer(listener: socket.socket, secret: bytes, *, timeout_s: float) -> tuple[int, socket.socket]:
    """Accept the next connection with the correct secret; return the peer's rank and the socket.

    Raise TimeoutError if no peer connects, or a connected peer sends nothing, for `timeout_s`.
    """
    listener.settimeout(timeout_s)
    while True:
        sock, _ = listener.accept()
        sock.settimeout(timeout_s)
        with suppress(EOFError, ConnectionError):  # a process outside the job may connect and leave
            received, rank = HANDSHAKE.unpack(receive_exactly(sock, HANDSHAKE.size))
            if hmac.compare_digest(received, secret):
                return rank, sock
        sock.close()


def receive_exactly(sock: socket.socket, length: int) -> bytes:
    """Receive exactly `length` bytes; raise EOFError if the peer closes the connection before."""
    received = b""
    while len(received) < length:  # MSG_WAITALL does not work on a socket with a timeout
        if not (part := sock.recv(length - len(received))):
            raise EOFError
        received += part
    return received
