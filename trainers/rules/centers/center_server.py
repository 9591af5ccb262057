"""Serves a center from rank 0: a thread for every other rank, and an order among them."""

import math
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from trainers.collectives.wire.handshake import read
from trainers.rules.call_timer import Timed, untimed
from trainers.rules.centers.center_protocol import GO, HEADER, RECEIPT, Parts, answer_call, receive, send
from trainers.rules.centers.center_update import Move
from trainers.rules.centers.request_order import Order
from trainers.rules.rule import RIDERS

NO_WISH = (0.0,) * (RIDERS - 1)
LOOK_S = 0.05  # how often rank 0 looks whether the others are through


class Keeper:
    """`lost` tells of ranks that left without a goodbye; the others go on without them. Those `done` said theirs."""

    def __init__(self, move: Move, order: Order, parts: Parts, *, world: int, updating: Timed = untimed) -> None:
        self.move, self.lost, self.done = move, dict[int, str](), set[int]()
        self._order, self._parts, self._own_move = order, parts, updating(move)
        self._losses, self._updates = [math.nan] * world, [0] * world
        self._news: dict[int, tuple[float, ...]] = {}  # rank 0's wishes, for ranks that have not come since
        self._threads: list[threading.Thread] = []
        self._socks: dict[int, socket.socket] = {}
        self._heard_at: dict[int, float] = {}
        self._silent = set[int]()  # they hang
        self._timeout_s = math.inf

    def open(self, door: socket.socket, secret: bytes, *, timeout_s: float) -> None:
        """Let every other rank in, and serve them from now on; `timeout_s`: see `settle`."""
        self._timeout_s = timeout_s
        for _ in range(len(self._losses) - 1):
            rank, sock = answer_call(door, secret, timeout_s=timeout_s)
            thread = threading.Thread(target=self._serve, args=(rank, sock), name=f"serves {rank}", daemon=True)
            self._threads.append(thread)
            self._socks[rank], self._heard_at[rank] = sock, time.monotonic()
        door.close()
        for thread in self._threads:
            thread.start()

    @property
    def mean_loss(self) -> float:
        """The mean of what every rank last said of its loss."""
        known = [loss for loss in self._losses if loss == loss]
        return sum(known) / len(known) if known else math.nan

    def exchange(self, message_N: Tensor, number: float, told: Sequence[float], *, answer_N: Tensor) -> list[float]:
        """Rank 0's own exchange: no wire, and the same order. Return the mean loss and rank 0's wishes."""
        with self._order.talk(0):
            self._losses[0], *wishes = told
            if any(wishes):
                self._tell_others(wishes)
            for part in self._parts:
                with self._order.update():
                    self._own_move(part, message_N[part], number, answer_n=answer_N[part])
            self._updates[0] += 1
            return [self.mean_loss, *wishes]

    def _tell_others(self, wishes: Sequence[float]) -> None:
        news = (*wishes, *NO_WISH[len(wishes) :])
        for rank in range(1, len(self._losses)):
            known = self._news.get(rank, NO_WISH)
            self._news[rank] = tuple(map(max, known, news))

    def settle(self) -> None:
        """Wait until every other rank has said goodbye or is lost; rank 0 makes no more exchanges.

        A rank that has not come to the center for `timeout_s` is lost: it hangs, as a connection does not tell.
        """
        self._order.leave(0)
        while any(thread.is_alive() for thread in self._threads):
            for rank, heard_at in list(self._heard_at.items()):
                if time.monotonic() - heard_at > self._timeout_s:
                    self._give_up(rank)
            time.sleep(LOOK_S)

    def _give_up(self, rank: int) -> None:
        """Wake the thread that serves the rank: it finds the connection ended."""
        self._silent.add(rank)
        with suppress(OSError):
            self._socks[rank].shutdown(socket.SHUT_RDWR)

    def where(self) -> Tensor:
        """The center as it is now."""
        with self._order.still():
            return self.move.c_N.clone()

    def left(self) -> Mapping[int, str | None]:
        """The ranks that exchange no more, and how each was lost; None where it said goodbye."""
        return {**self.lost, **dict.fromkeys(list(self.done))}

    def _serve(self, rank: int, sock: socket.socket) -> None:
        message_N, answer_N = torch.empty_like(self.move.c_N), torch.empty_like(self.move.c_N)
        try:
            while self._exchange(rank, sock, message_N, answer_N=answer_N):
                pass
            self.done.add(rank)
        except (EOFError, OSError) as error:
            self.lost[rank] = self._why(rank, error)
        finally:
            self._order.leave(rank)
            sock.close()

    def _why(self, rank: int, error: Exception) -> str:
        if rank in self._silent:
            return f"it did not come to the center for {self._timeout_s:g} s"
        return "its connection ended" if isinstance(error, EOFError) else f"its connection broke: {error}"

    def _exchange(self, rank: int, sock: socket.socket, message_N: Tensor, *, answer_N: Tensor) -> bool:
        goes_on, number, loss = HEADER.unpack(read(sock, HEADER.size))
        self._heard_at[rank] = time.monotonic()
        if not goes_on:
            return False
        with self._order.talk(rank):
            self._losses[rank] = loss
            sock.sendall(GO.pack(*self._news.pop(rank, NO_WISH)))
            for part in self._parts:
                receive(sock, message_N[part])
                with self._order.update():
                    self.move(part, message_N[part], number, answer_n=answer_N[part])
                send(sock, answer_N[part])
            self._updates[rank] += 1
            if self._order.asks_receipt:
                read(sock, len(RECEIPT))
        return True

    def state_dict(self) -> dict[str, Any]:
        """The center and its velocity at one moment, and what is known of every rank."""
        with self._order.still():
            tensors = {name: value.clone() for name, value in vars(self.move).items() if isinstance(value, Tensor)}
            return {"losses": list(self._losses), "updates": list(self._updates), "tensors": tensors}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there, also among more or fewer ranks."""
        known = min(len(self._losses), len(state["losses"]))
        self._losses[:known], self._updates[:known] = state["losses"][:known], state["updates"][:known]
        for name, value in state["tensors"].items():
            getattr(self.move, name).copy_(value)
