"""CenterServer: serve a center from rank 0, with one thread per other rank and an order among the ranks."""

import math
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from trainers.collectives.wire.handshake import receive_exactly
from trainers.rules.call_timer import CallTimer, call_untimed
from trainers.rules.centers.center_protocol import (
    HEADER,
    PERMISSION,
    RECEIPT,
    Parts,
    accept_replicas,
    receive,
    send,
)
from trainers.rules.centers.center_update import CenterUpdate
from trainers.rules.centers.request_order import RequestOrder
from trainers.rules.rule import EXTRA_VALUES

NO_REQUESTS = (0.0,) * (EXTRA_VALUES - 1)
POLL_S = 0.05  # how often rank 0 checks whether the other ranks have finished


class CenterServer:
    """`finished`: ranks that have finished; `lost`: ranks whose connection ended before that, and why.

    The other ranks continue without a lost rank.
    """

    def __init__(
        self, move: CenterUpdate, order: RequestOrder, parts: Parts, *, world: int, updating: CallTimer = call_untimed
    ) -> None:
        self.move, self.lost, self.finished = move, dict[int, str](), set[int]()
        self._order, self._parts, self._own_move = order, parts, updating(move)
        self._losses, self._updates = [math.nan] * world, [0] * world
        self._pending: dict[int, tuple[float, ...]] = {}  # rank 0's requests, for ranks with no exchange since
        self._threads: list[threading.Thread] = []
        self._socks: dict[int, socket.socket] = {}
        self._last_header_at: dict[int, float] = {}
        self._unresponsive = set[int]()
        self._timeout_s = math.inf

    def open(self, listener: socket.socket, secret: bytes, *, timeout_s: float) -> None:
        """Accept the connections of all other ranks and start to serve them; `timeout_s`: see `wait_for_all`."""
        self._timeout_s = timeout_s
        for rank, sock in accept_replicas(listener, secret, world=len(self._losses), timeout_s=timeout_s):
            thread = threading.Thread(target=self._serve, args=(rank, sock), name=f"serves {rank}", daemon=True)
            self._threads.append(thread)
            self._socks[rank], self._last_header_at[rank] = sock, time.monotonic()
        for thread in self._threads:
            thread.start()

    @property
    def mean_loss(self) -> float:
        """The mean of the last loss of every rank."""
        known = [loss for loss in self._losses if loss == loss]
        return sum(known) / len(known) if known else math.nan

    def exchange(self, message_N: Tensor, number: float, values: Sequence[float], *, answer_N: Tensor) -> list[float]:
        """Make rank 0's exchange in memory, in the same order; return the mean loss and rank 0's requests."""
        with self._order.exchange(0):
            self._losses[0], *requests = values
            if any(requests):
                self._queue_requests(requests)
            for part in self._parts:
                with self._order.update():
                    self._own_move(part, message_N[part], number, answer_n=answer_N[part])
            self._updates[0] += 1
            return [self.mean_loss, *requests]

    def _queue_requests(self, requests: Sequence[float]) -> None:
        padded = (*requests, *NO_REQUESTS[len(requests) :])
        for rank in range(1, len(self._losses)):
            queued = self._pending.get(rank, NO_REQUESTS)
            self._pending[rank] = tuple(map(max, queued, padded))

    def wait_for_all(self) -> None:
        """Wait until every other rank has finished or is lost; rank 0 makes no more exchanges.

        A rank that has begun no exchange for `timeout_s` is lost: its process stalls, which its connection does not
        show.
        """
        self._order.remove_rank(0)
        while any(thread.is_alive() for thread in self._threads):
            for rank, last_header_at in list(self._last_header_at.items()):
                if time.monotonic() - last_header_at > self._timeout_s:
                    self._drop(rank)
            time.sleep(POLL_S)

    def _drop(self, rank: int) -> None:
        """Shut the rank's connection down, which wakes the thread that serves it."""
        self._unresponsive.add(rank)
        with suppress(OSError):
            self._socks[rank].shutdown(socket.SHUT_RDWR)

    def read_center(self) -> Tensor:
        """Return a copy of the center."""
        with self._order.pause_updates():
            return self.move.c_N.clone()

    def departed_ranks(self) -> Mapping[int, str | None]:
        """Return the ranks that exchange no more, and why each was lost; None if the rank has finished."""
        return {**self.lost, **dict.fromkeys(list(self.finished))}

    def _serve(self, rank: int, sock: socket.socket) -> None:
        message_N, answer_N = torch.empty_like(self.move.c_N), torch.empty_like(self.move.c_N)
        try:
            while self._serve_exchange(rank, sock, message_N, answer_N=answer_N):
                pass
            self.finished.add(rank)
        except (EOFError, OSError) as error:
            self.lost[rank] = self._describe_loss(rank, error)
        finally:
            self._order.remove_rank(rank)
            sock.close()

    def _describe_loss(self, rank: int, error: Exception) -> str:
        if rank in self._unresponsive:
            return f"it did not come to the center for {self._timeout_s:g} s"
        return "its connection ended" if isinstance(error, EOFError) else f"its connection broke: {error}"

    def _serve_exchange(self, rank: int, sock: socket.socket, message_N: Tensor, *, answer_N: Tensor) -> bool:
        """Serve one exchange; return False if the rank has finished instead."""
        follows, number, loss = HEADER.unpack(receive_exactly(sock, HEADER.size))
        self._last_header_at[rank] = time.monotonic()
        if not follows:
            return False
        with self._order.exchange(rank):
            self._losses[rank] = loss
            sock.sendall(PERMISSION.pack(*self._pending.pop(rank, NO_REQUESTS)))
            for part in self._parts:
                receive(sock, message_N[part])
                with self._order.update():
                    self.move(part, message_N[part], number, answer_n=answer_N[part])
                send(sock, answer_N[part])
            self._updates[rank] += 1
            if self._order.needs_receipt:
                receive_exactly(sock, len(RECEIPT))
        return True

    def state_dict(self) -> dict[str, Any]:
        """Return the center and its velocity at one moment, and the loss and the number of updates of every rank."""
        with self._order.pause_updates():
            tensors = {name: value.clone() for name, value in vars(self.move).items() if isinstance(value, Tensor)}
            return {"losses": list(self._losses), "updates": list(self._updates), "tensors": tensors}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, also in a world of another size."""
        known = min(len(self._losses), len(state["losses"]))
        self._losses[:known], self._updates[:known] = state["losses"][:known], state["updates"][:known]
        for name, value in state["tensors"].items():
            getattr(self.move, name).copy_(value)
