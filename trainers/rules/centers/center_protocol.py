"""The protocol between a replica and a served center: a header, a permission to send, then parts and their answers.

If the order needs it (request_order.py), a receipt ends the exchange: a sender knows only that its message is in a
buffer; the receiver knows that the message has arrived.
"""

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress

import torch.distributed as dist
from torch import Tensor

from runfiles.own_address import own_address
from trainers.collectives.json_exchange import broadcast_json
from trainers.collectives.wire.buffer_pool import byte_view
from trainers.collectives.wire.group_secret import secret_of
from trainers.collectives.wire.handshake import Identity, connect
from trainers.collectives.wire.handshakes import PeerSockets
from trainers.collectives.wire.rank_lost import RankLost
from trainers.collectives.wire.rendezvous import CONGESTION
from trainers.rules.rule import EXTRA_VALUES

HEADER = struct.Struct("<?xxxxxxxdd")  # whether an exchange follows (else the replica has finished), number, loss
PERMISSION = struct.Struct(f"<{EXTRA_VALUES - 1}d")  # the replica may send its parts; rank 0's requests, 0 for none
PURPOSE = "center"  # of the connections, in their handshake
RECEIPT = b"r"  # the replica has received the last answer
Parts = Sequence[slice]  # of the vector, one message each


def open_center(
    is_server: bool, group: dist.ProcessGroup | None = None
) -> tuple[socket.socket | None, tuple[str, int], bytes]:
    """Open the server's socket; return it on rank 0, and on every rank its address and the secret of the ranks.

    All ranks of the group call this together.
    """
    listener = socket.create_server((own_address(), 0), backlog=dist.get_world_size(group)) if is_server else None
    host, port = broadcast_json(listener.getsockname() if listener else None, group)
    return listener, (str(host), int(port)), secret_of(group)


def accept_replicas(
    listener: socket.socket, secret: bytes, *, world: int, timeout_s: float
) -> Iterator[tuple[int, socket.socket]]:
    """Accept the connection of every other rank, and yield its rank and its socket; then close the listener."""
    sockets = PeerSockets(listener, Identity(secret, PURPOSE, 0), world=world)
    try:
        for _ in range(world - 1):
            rank, sock = sockets.next(timeout_s=timeout_s)
            yield rank, _configure(sock, None)
    finally:
        sockets.close()


def connect_to_center(address: tuple[str, int], secret: bytes, *, rank: int, timeout_s: float) -> socket.socket:
    """Connect to the server and complete the handshake."""
    return _configure(connect(address, Identity(secret, PURPOSE, rank), peer=0, timeout_s=timeout_s), timeout_s)


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
