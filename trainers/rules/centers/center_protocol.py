"""The protocol between a replica and a served center: a header, a permission to send, then parts and their answers.

If the order needs it (request_order.py), a receipt ends the exchange: a sender knows only that its message is in a
buffer; the receiver knows that the message has arrived.
"""

import secrets
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress

import torch.distributed as dist
from torch import Tensor

from trainers.collectives.wire.address import own_address
from trainers.collectives.wire.buffer_pool import byte_view
from trainers.collectives.wire.handshake import HANDSHAKE, accept_peer
from trainers.collectives.wire.rank_lost import RankLost
from trainers.collectives.wire.rendezvous import CONGESTION
from trainers.rules.rule import EXTRA_VALUES

HEADER = struct.Struct("<?xxxxxxxdd")  # whether an exchange follows (else the replica has finished), number, loss
PERMISSION = struct.Struct(f"<{EXTRA_VALUES - 1}d")  # the replica may send its parts; rank 0's requests, 0 for none
RECEIPT = b"r"  # the replica has received the last answer
Parts = Sequence[slice]  # of the vector, one message each


def open_center(
    is_server: bool, group: dist.ProcessGroup | None = None
) -> tuple[socket.socket | None, tuple[str, int], bytes]:
    """Open the server's socket and broadcast its address and secret; all ranks of the group call this together."""
    listener = socket.create_server((own_address(), 0), backlog=dist.get_world_size(group)) if is_server else None
    objects = [(listener.getsockname(), secrets.token_bytes(16)) if listener else None]
    dist.broadcast_object_list(objects, group_src=0, group=group)
    assert objects[0] is not None
    return listener, *objects[0]


def accept_replica(listener: socket.socket, secret: bytes, *, timeout_s: float) -> tuple[int, socket.socket]:
    """Accept the next replica that sends the secret; return its rank and the connection."""
    rank, sock = accept_peer(listener, secret, timeout_s=timeout_s)
    return rank, _configure(sock, None)


def connect_to_center(address: tuple[str, int], secret: bytes, *, rank: int, timeout_s: float) -> socket.socket:
    """Connect to the server and send the handshake."""
    sock = _configure(socket.create_connection(address, timeout=timeout_s), timeout_s)
    sock.sendall(HANDSHAKE.pack(secret, rank))
    return sock


def _configure(sock: socket.socket, timeout_s: float | None) -> socket.socket:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with suppress(AttributeError, OSError):  # otherwise use the system's default
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION)
    _enable_keepalive(sock)
    sock.settimeout(timeout_s)
    return sock


def _enable_keepalive(sock: socket.socket) -> None:
    """Detect a host that disappears within 90 s, even while no message is sent."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with suppress(AttributeError, OSError):  # otherwise use the system's default
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 90_000)


def send(sock: socket.socket, part_n: Tensor) -> None:
    """Send a part of a vector."""
    sock.sendall(byte_view(part_n))


def receive(sock: socket.socket, part_n: Tensor) -> None:
    """Fill `part_n` from the connection; raise EOFError if the peer has closed it."""
    memory = byte_view(part_n)
    while memory:
        count = sock.recv_into(memory)
        if not count:
            raise EOFError
        memory = memory[count:]


def center_lost(error: Exception, timeout_s: float) -> RankLost:
    """Return the error of a replica that has lost the connection to rank 0."""
    how = f"sent nothing for {timeout_s:g} s" if isinstance(error, TimeoutError) else "is gone"
    return RankLost(f"rank 0, which serves the center, {how}", [0])
