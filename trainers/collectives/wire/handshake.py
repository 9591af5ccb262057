"""How a caller proves that it belongs to the job: the secret of the one who is called, and the caller's rank."""

import hmac
import socket
import struct
from contextlib import suppress

HELLO = struct.Struct("<16sI")


def let_in(door: socket.socket, secret: bytes, *, timeout_s: float) -> tuple[int, socket.socket]:
    """Let the next caller in who knows the secret; return its rank and the connection.

    Raise TimeoutError when nobody calls, or a caller says nothing, for so long.
    """
    door.settimeout(timeout_s)
    while True:
        sock, _ = door.accept()
        sock.settimeout(timeout_s)
        with suppress(EOFError, ConnectionError):  # a stranger's
            told, rank = HELLO.unpack(read(sock, HELLO.size))
            if hmac.compare_digest(told, secret):
                return rank, sock
        sock.close()


def read(sock: socket.socket, length: int) -> bytes:
    """Read exactly so many bytes; raise EOFError when the other side has left."""
    told = b""
    while len(told) < length:  # with a time-out, a socket does not wait for all by itself (MSG_WAITALL)
        if not (part := sock.recv(length - len(told))):
            raise EOFError
        told += part
    return told
