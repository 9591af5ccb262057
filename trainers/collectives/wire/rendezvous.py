"""How the ranks of a group find each other: every rank tells all others where it listens and what memory it shares."""

import secrets
import socket
from contextlib import suppress
from typing import NamedTuple, TypeVar

import torch.distributed as dist
from torch import Tensor

from trainers.collectives.wire import shared_memory as arena
from trainers.collectives.wire.address import own_address
from trainers.collectives.wire.connection import Line
from trainers.collectives.wire.handshake import HELLO, let_in

T = TypeVar("T")

# Several ranks of a host share its link. bbr, where it is the system's choice, then leaves gaps: 1.06 to 1.18 x the
# bound where reno took 1.055 (docs/log.md). reno is there on every Linux and may be chosen by every user.
CONGESTION = b"reno"


class Card(NamedTuple):
    """What a rank tells the others."""

    host: str
    address: tuple[str, int]
    secret: bytes
    arena: tuple[str, str] | None


class Meeting:
    """What this rank knows of the others, and its open door."""

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        self._door = socket.create_server((own_address(), 0), backlog=max(self.world, 16))
        self.arena = arena.own()
        mine = Card(
            socket.gethostname(),
            self._door.getsockname(),
            secrets.token_bytes(16),
            self.arena.address if self.arena else None,
        )
        self.cards: list[Card] = _told_all(mine, self.world, group)
        self.hosts = [card.host for card in self.cards]
        opened = {peer: arena.opened(card.arena) for peer, card in enumerate(self.cards) if peer != self.rank}
        self.memories: dict[int, Tensor] = {peer: bytes_B for peer, bytes_B in opened.items() if bytes_B is not None}
        readers: list[list[int]] = _told_all(list(self.memories), self.world, group)
        self.readers = {peer for peer, read in enumerate(readers) if self.rank in read}
        if self.arena:
            self.arena.close()

    def call(self, peer: int, *, timeout_s: float) -> Line:
        """Connect to a rank that listens."""
        card = self.cards[peer]
        sock = socket.create_connection(card.address, timeout=timeout_s)
        sock.sendall(HELLO.pack(card.secret, self.rank))
        return _line(sock, peer)

    def answer(self, *, timeout_s: float) -> Line:
        """Let the next caller in who knows the secret."""
        peer, sock = let_in(self._door, self.cards[self.rank].secret, timeout_s=timeout_s)
        return _line(sock, peer)


def _told_all(mine: T, world: int, group: dist.ProcessGroup | None) -> list[T]:
    all_told: list[T] = [mine] * world
    dist.all_gather_object(all_told, mine, group=group)
    return all_told


def _line(sock: socket.socket, peer: int) -> Line:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with suppress(AttributeError, OSError):  # else as the system has it
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION)
    sock.setblocking(False)
    return Line(sock, peer)
