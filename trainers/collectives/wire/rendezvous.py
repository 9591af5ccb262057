"""The rendezvous of a group: every rank publishes its listening address and its shared memory."""

import secrets
import socket
from contextlib import suppress
from typing import NamedTuple, TypeVar

import torch.distributed as dist
from torch import Tensor

from trainers.collectives.wire.address import own_address
from trainers.collectives.wire.connection import Connection
from trainers.collectives.wire.handshake import HANDSHAKE, accept_peer
from trainers.collectives.wire.shared_memory import create_shared_memory, open_shared_memory

T = TypeVar("T")

# Several ranks of a host share one network link. bbr, the default of some systems, leaves the link idle at times:
# 1.06 to 1.18 x the bound, against 1.055 x with reno (docs/log/collectives.md). Every Linux has
# reno, and no privilege is needed.
CONGESTION = b"reno"


class Endpoint(NamedTuple):
    """The data that a rank publishes to its group."""

    host: str
    address: tuple[str, int]
    secret: bytes
    shared_memory: tuple[str, str] | None


class Rendezvous:
    """Exchange endpoints with all ranks of a group, then connect to peers and accept their connections."""

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        self._listener = socket.create_server((own_address(), 0), backlog=max(self.world, 16))
        self.shared_memory = create_shared_memory()
        own = Endpoint(
            socket.gethostname(),
            self._listener.getsockname(),
            secrets.token_bytes(16),
            self.shared_memory.address if self.shared_memory else None,
        )
        self.endpoints: list[Endpoint] = _gather_from_all(own, self.world, group)
        self.hosts = [endpoint.host for endpoint in self.endpoints]
        mapped = {
            peer: open_shared_memory(endpoint.shared_memory)
            for peer, endpoint in enumerate(self.endpoints)
            if peer != self.rank
        }
        self.peer_memories: dict[int, Tensor] = {
            peer: bytes_B for peer, bytes_B in mapped.items() if bytes_B is not None
        }
        mapped_by: list[list[int]] = _gather_from_all(list(self.peer_memories), self.world, group)
        # the peers that can read this rank's shared memory
        self.readers = {peer for peer, ranks in enumerate(mapped_by) if self.rank in ranks}
        if self.shared_memory:
            self.shared_memory.close()

    def connect(self, peer: int, *, timeout_s: float) -> Connection:
        """Connect to a listening rank; raise OSError if that fails."""
        endpoint = self.endpoints[peer]
        sock = socket.create_connection(endpoint.address, timeout=timeout_s)
        sock.sendall(HANDSHAKE.pack(endpoint.secret, self.rank))
        return _configure(sock, peer)

    def accept(self, *, timeout_s: float) -> Connection:
        """Accept the connection of the next rank; raise TimeoutError if no rank connects within `timeout_s`."""
        peer, sock = accept_peer(self._listener, self.endpoints[self.rank].secret, timeout_s=timeout_s)
        return _configure(sock, peer)


def _gather_from_all(own: T, world: int, group: dist.ProcessGroup | None) -> list[T]:
    gathered: list[T] = [own] * world
    dist.all_gather_object(gathered, own, group=group)
    return gathered


def _configure(sock: socket.socket, peer: int) -> Connection:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with suppress(AttributeError, OSError):  # a system without reno keeps its default
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION)
    sock.setblocking(False)
    return Connection(sock, peer)
