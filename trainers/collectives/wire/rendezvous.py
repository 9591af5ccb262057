"""The rendezvous of a group: every rank publishes its listening address and its shared memory."""

import socket
from contextlib import suppress
from typing import Any, NamedTuple

import torch.distributed as dist
from torch import Tensor

from runfiles.own_address import own_address
from trainers.collectives.json_exchange import gather_json
from trainers.collectives.wire.connection import Connection
from trainers.collectives.wire.group_secret import secret_of
from trainers.collectives.wire.handshake import Identity
from trainers.collectives.wire.handshakes import PeerSockets
from trainers.collectives.wire.shared_memory import create_shared_memory, open_shared_memory

# Several ranks of a host share one network link. bbr, the default of some systems, leaves the link idle at times:
# 1.06 to 1.18 x the bound, against 1.055 x with reno (docs/log/collectives.md). Every Linux has
# reno, and no privilege is needed.
CONGESTION = b"reno"


class Endpoint(NamedTuple):
    """The data that a rank publishes to its group."""

    host: str
    address: tuple[str, int]
    shared_memory: tuple[str, str, str] | None


class Rendezvous:
    """Exchange endpoints with all ranks of a group, then connect to peers and accept their connections."""

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        listener = socket.create_server((own_address(), 0), backlog=max(self.world, 16))
        identity = Identity(secret_of(group), "collective", self.rank)
        self._sockets = PeerSockets(listener, identity, world=self.world)
        self.shared_memory = create_shared_memory()
        address = self.shared_memory.address if self.shared_memory else None
        own = Endpoint(socket.gethostname(), listener.getsockname(), address)
        self.endpoints = [_read_endpoint(*fields) for fields in gather_json(own, group)]
        self.hosts = [endpoint.host for endpoint in self.endpoints]
        mapped = {
            peer: open_shared_memory(endpoint.shared_memory)
            for peer, endpoint in enumerate(self.endpoints)
            if peer != self.rank
        }
        self.peer_memories: dict[int, Tensor] = {
            peer: bytes_B for peer, bytes_B in mapped.items() if bytes_B is not None
        }
        mapped_by: list[list[int]] = gather_json(list(self.peer_memories), group)
        # the peers that can read this rank's shared memory
        self.readers = {peer for peer, ranks in enumerate(mapped_by) if self.rank in ranks}
        if self.shared_memory:
            self.shared_memory.close()

    def connect(self, peer: int, *, timeout_s: float) -> None:
        """Start to connect to a listening rank: `next` returns the connection. Raise OSError."""
        self._sockets.connect(self.endpoints[peer].address, peer=peer, timeout_s=timeout_s)

    def next(self, *, timeout_s: float) -> Connection:
        """Return the connection of the next peer whose handshake is complete, whichever end connected.

        Raise TimeoutError if no handshake completes within `timeout_s`, or OSError if a connection fails.
        """
        peer, sock = self._sockets.next(timeout_s=timeout_s)
        return _configure(sock, peer)


def _read_endpoint(host: str, address: list[Any], shared_memory: list[str] | None) -> Endpoint:
    """Return an endpoint from its JSON; raise ValueError if it is malformed."""
    memory = (str(shared_memory[0]), str(shared_memory[1]), str(shared_memory[2])) if shared_memory else None
    return Endpoint(str(host), (str(address[0]), int(address[1])), memory)


def _configure(sock: socket.socket, peer: int) -> Connection:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with suppress(AttributeError, OSError):  # a system without reno keeps its default
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION)
    sock.setblocking(False)
    return Connection(sock, peer)
