"""Serves a center from rank 0: a thread for every other rank, and an order among them."""

import math
import socket
import threading
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from trainers.rules.move import Move
from trainers.rules.order import Order
from trainers.rules.talk import GO, HEADER, Parts, answer_call, read, receive, send


class Keeper:
    """`lost` tells of ranks that left without a goodbye; the others go on without them."""

    def __init__(self, move: Move, order: Order, parts: Parts, *, world: int) -> None:
        self.move, self.lost = move, dict[int, str]()
        self._order, self._parts = order, parts
        self._losses = [math.nan] * world
        self._threads: list[threading.Thread] = []

    def open(self, door: socket.socket, secret: bytes, *, timeout_s: float) -> None:
        """Let every other rank in, and serve them from now on."""
        for _ in range(len(self._losses) - 1):
            rank, sock = answer_call(door, secret, timeout_s=timeout_s)
            thread = threading.Thread(target=self._serve, args=(rank, sock), name=f"serves {rank}", daemon=True)
            self._threads.append(thread)
        door.close()
        for thread in self._threads:
            thread.start()

    @property
    def mean_loss(self) -> float:
        """The mean of what every rank last said of its loss."""
        known = [loss for loss in self._losses if loss == loss]
        return sum(known) / len(known) if known else math.nan

    def exchange(self, message_N: Tensor, number: float, loss: float, *, answer_N: Tensor) -> None:
        """Rank 0's own exchange: no wire, and the same order."""
        with self._order.talk(0):
            self._losses[0] = loss
            for part in self._parts:
                with self._order.update():
                    self.move(part, message_N[part], number, answer_n=answer_N[part])

    def settle(self) -> None:
        """Wait until every other rank has said goodbye or is lost; rank 0 makes no more exchanges."""
        self._order.leave(0)
        for thread in self._threads:
            thread.join()

    def where(self) -> Tensor:
        """The center as it is now."""
        with self._order.update():
            return self.move.c_N.clone()

    def _serve(self, rank: int, sock: socket.socket) -> None:
        message_N, answer_N = torch.empty_like(self.move.c_N), torch.empty_like(self.move.c_N)
        try:
            while self._exchange(rank, sock, message_N, answer_N=answer_N):
                pass
        except (EOFError, OSError) as error:
            self.lost[rank] = f"{type(error).__name__}: {error}".rstrip(": ")
        finally:
            self._order.leave(rank)
            sock.close()

    def _exchange(self, rank: int, sock: socket.socket, message_N: Tensor, *, answer_N: Tensor) -> bool:
        goes_on, number, loss = HEADER.unpack(read(sock, HEADER.size))
        if not goes_on:
            return False
        with self._order.talk(rank):
            self._losses[rank] = loss
            sock.sendall(GO)
            for part in self._parts:
                receive(sock, message_N[part])
                with self._order.update():
                    self.move(part, message_N[part], number, answer_n=answer_N[part])
                send(sock, answer_N[part])
        return True

    def state_dict(self) -> dict[str, Any]:
        tensors = {name: value for name, value in vars(self.move).items() if isinstance(value, Tensor)}
        return {"losses": list(self._losses), "tensors": tensors}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._losses = list(state["losses"])
        for name, value in state["tensors"].items():
            getattr(self.move, name).copy_(value)
