"""The connections of one rank to its peers."""

import json
import selectors
import time
from collections.abc import Iterable
from contextlib import suppress

import torch.distributed as dist

from trainers.collectives.wire.collective_state import CollectiveState
from trainers.collectives.wire.connection import Connection
from trainers.collectives.wire.frame import ABORT, DATA, DONE, PING, PONG, SHARED, Frame
from trainers.collectives.wire.rank_lost import RankLost
from trainers.collectives.wire.rendezvous import Rendezvous


class Connections:
    """Transfer frames between the ranks of a group: one collective at a time, in the same order on every rank."""

    def __init__(self, group: dist.ProcessGroup | None = None) -> None:
        self.rendezvous = Rendezvous(group)
        self.rank, self.world = self.rendezvous.rank, self.rendezvous.world
        self.state = CollectiveState()
        self.to: dict[int, Connection] = {}  # by peer
        self.remote_bytes = 0  # that the last poll received from peers without shared memory
        self._selector = selectors.DefaultSelector()
        self._writing: set[int] = set()  # peers whose connection waits until the kernel takes more bytes

    def connect(self, peers: Iterable[int], *, timeout_s: float) -> None:
        """Connect to all `peers` that are not connected yet; the peers must do the same.

        The higher rank connects, the lower rank accepts. Raise RankLost if a peer does not answer within `timeout_s`.
        """
        missing = set(peers) - self.to.keys()
        try:
            for peer in sorted(peer for peer in missing if peer < self.rank):
                self.rendezvous.connect(peer, timeout_s=timeout_s)
            while not self.to.keys() >= missing:
                self._add(self.rendezvous.next(timeout_s=timeout_s))
        except OSError as error:
            absent = sorted(missing - self.to.keys())
            names = f"rank{'s' if len(absent) > 1 else ''} {', '.join(map(str, absent))}"
            message = f"{names} did not respond: rank {self.rank} could not connect ({error})"
            raise RankLost(message, absent, is_unresponsive=True) from error

    def poll(self, timeout_s: float) -> int:
        """Send and receive until a connection is ready or `timeout_s` has passed; return how many bytes moved."""
        self._update_selector()
        moved = self.remote_bytes = 0
        for key, events in self._selector.select(timeout_s):
            connection = key.data
            if events & selectors.EVENT_READ:
                received = connection.receive(self)
                moved += received
                self.remote_bytes += received if connection.peer not in self.rendezvous.readers else 0
            if events & selectors.EVENT_WRITE:
                moved += connection.flush()
        return moved

    @property
    def has_unsent(self) -> bool:
        """Return whether any connection has bytes that wait for the kernel."""
        return any(connection.has_unsent for connection in self.to.values())

    @property
    def closed_peers(self) -> set[int]:
        """Return the peers whose connection has ended."""
        return {peer for peer, connection in self.to.items() if connection.is_closed}

    def buffer_for(self, peer: int, frame: Frame) -> memoryview:
        """Return the memory for the frame's body."""
        return self.state.buffer_for(peer, frame)

    def on_frame(self, peer: int, frame: Frame) -> None:
        """Store a part, answer a PING, or record what a peer reports; raise RankLost on an ABORT."""
        if frame.kind == DATA:
            self.state.store_body(peer, frame)
        elif frame.kind == SHARED:
            self.state.store_shared(peer, frame, self.rendezvous.peer_memories[peer])
        elif frame.kind == PING:
            self.state.record_probe()
            self.to[peer].send(Frame(PONG))
        elif frame.kind == PONG:
            self.state.record_probe()
            self.state.record_pong(peer)
        elif frame.kind == DONE:
            self.state.record_done(peer, frame.segment)
        else:
            raise _decode_failure(self.state.read_body(peer, frame))

    def abort(self, failure: RankLost) -> None:
        """Send the failure to every peer in place of all unsent frames, and refuse further collectives."""
        self.state.fail(failure)
        body = _encode_failure(failure)
        for connection in self.to.values():
            connection.discard_unsent()
            connection.send(Frame(ABORT, nbytes=len(body)), memoryview(body))

    def drain(self, timeout_s: float) -> None:
        """Send all frames, close the sending direction, and read until every peer has closed or time has passed.

        A peer may have frames of this rank to read after this rank has left, so do not close at once.
        """
        deadline = time.monotonic() + timeout_s
        is_open = True
        while is_open and time.monotonic() < deadline:
            with suppress(RankLost):
                self.poll(0.01)
            for connection in self.to.values():
                connection.finish_sending()
            is_open = any(not connection.is_closed for connection in self.to.values())

    def _add(self, connection: Connection) -> None:
        self.to[connection.peer] = connection
        self._selector.register(connection.sock, selectors.EVENT_READ, connection)

    def _update_selector(self) -> None:
        """Watch for writability exactly the connections with unsent bytes; release the sockets of closed ones."""
        for connection in self.to.values():
            is_writing = connection.peer in self._writing
            if connection.is_closed and connection.sock.fileno() >= 0:
                self._selector.unregister(connection.sock)
                connection.release_socket()
            elif connection.has_unsent is not is_writing:
                events = selectors.EVENT_READ | (0 if is_writing else selectors.EVENT_WRITE)
                self._selector.modify(connection.sock, events, connection)
                (self._writing.discard if is_writing else self._writing.add)(connection.peer)


def _encode_failure(failure: RankLost) -> bytes:
    fields = {
        "message": str(failure),
        "ranks": failure.ranks,
        "is_silent": failure.is_unresponsive,
        "in_round": failure.in_round,
    }
    return json.dumps(fields).encode()


def _decode_failure(body: bytes) -> RankLost:
    fields = json.loads(body)
    return RankLost(
        fields["message"], fields["ranks"], is_unresponsive=fields["is_silent"], in_round=fields["in_round"]
    )
