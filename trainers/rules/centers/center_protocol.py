"""How a replica talks to a center on another host: a header, a word to let it speak, then parts and their answers.

Where the order asks for it (order.py) a receipt ends the talk: whoever sends only knows that what it sent lies in a
buffer, and only the reader that it was read.
"""

import secrets
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress

import torch.distributed as dist
from torch import Tensor

from trainers.collectives.wire.address import own_address
from trainers.collectives.wire.buffer_pool import as_memory
from trainers.collectives.wire.handshake import HELLO, let_in
from trainers.collectives.wire.rank_lost import RankLost
from trainers.collectives.wire.rendezvous import CONGESTION
from trainers.rules.rule import RIDERS

HEADER = struct.Struct("<?xxxxxxxdd")  # does it go on (or say goodbye), alpha or rate, loss
GO = struct.Struct(f"<{RIDERS - 1}d")  # it may speak; the keeper's wishes, 0 for none
RECEIPT = b"r"  # the last answer was read
Parts = Sequence[slice]  # of the vector, each a message of its own


def doors(
    is_keeper: bool, group: dist.ProcessGroup | None = None
) -> tuple[socket.socket | None, tuple[str, int], bytes]:
    """Open the keeper's door and tell all ranks where it is; every rank of the group calls this together."""
    door = socket.create_server((own_address(), 0), backlog=dist.get_world_size(group)) if is_keeper else None
    told = [(door.getsockname(), secrets.token_bytes(16)) if door else None]
    dist.broadcast_object_list(told, group_src=0, group=group)
    assert told[0] is not None
    return door, *told[0]


def answer_call(door: socket.socket, secret: bytes, *, timeout_s: float) -> tuple[int, socket.socket]:
    """Let the next replica in that knows the secret; return its rank and the connection."""
    rank, sock = let_in(door, secret, timeout_s=timeout_s)
    return rank, _tuned(sock, None)


def call(address: tuple[str, int], secret: bytes, *, rank: int, timeout_s: float) -> socket.socket:
    """Connect to the keeper."""
    sock = _tuned(socket.create_connection(address, timeout=timeout_s), timeout_s)
    sock.sendall(HELLO.pack(secret, rank))
    return sock


def _tuned(sock: socket.socket, timeout_s: float | None) -> socket.socket:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with suppress(AttributeError, OSError):  # else as the system has it
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION)
    _watched(sock)
    sock.settimeout(timeout_s)
    return sock


def _watched(sock: socket.socket) -> None:
    """A host that vanishes without a word is noticed within a minute and a half, also while nobody speaks."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with suppress(AttributeError, OSError):  # else as the system has it
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 90_000)


def send(sock: socket.socket, part_n: Tensor) -> None:
    sock.sendall(as_memory(part_n))


def receive(sock: socket.socket, room_n: Tensor) -> None:
    """Fill `room_n`; raise EOFError when the other side has left."""
    memory = as_memory(room_n)
    while memory:
        count = sock.recv_into(memory)
        if not count:
            raise EOFError
        memory = memory[count:]


def lost(error: Exception, timeout_s: float) -> RankLost:
    """What a replica says when the keeper is gone."""
    how = f"said nothing for {timeout_s:g} s" if isinstance(error, TimeoutError) else "is gone"
    return RankLost(f"rank 0, which keeps the center, {how}", [0])
