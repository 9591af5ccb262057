"""A center that rank 0 serves to one replica at a time: the asynchronous rules, and the original round robin.

Its connections are its own, so it works beside any backend, also one in which rank 0 could not receive from whoever
comes first. It lies in the host's memory: what comes from a GPU and goes back is copied there on the way.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runners.allreduce import TIMEOUT_S
from trainers.collectives.wire.handshake import read
from trainers.rules.call_timer import Timed, untimed
from trainers.rules.centers.center_protocol import GO, HEADER, RECEIPT, Parts, call, doors, lost, receive, send
from trainers.rules.centers.center_server import Keeper
from trainers.rules.centers.center_update import Move
from trainers.rules.centers.request_order import Order


class Door:
    """This rank's way to what rank 0 keeps, on the CPU; all ranks of the group open theirs together."""

    def __init__(
        self,
        move: Move,
        order: Order,
        *,
        parts: Parts | None = None,
        group: dist.ProcessGroup | None = None,
        timeout_s: float = TIMEOUT_S,
        updating: Timed = untimed,
    ) -> None:
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        self._parts, self._timeout_s = parts or [slice(None)], timeout_s
        self._asks_receipt = order.asks_receipt
        self._message_N, self._answer_N = torch.empty_like(move.c_N), torch.empty_like(move.c_N)
        self.keeper = Keeper(move, order, self._parts, world=world, updating=updating) if rank == 0 else None
        door, address, secret = doors(rank == 0, group)
        if self.keeper is not None:
            assert door is not None
            self.keeper.open(door, secret, timeout_s=timeout_s)
        else:
            self._sock = call(address, secret, rank=rank, timeout_s=timeout_s)

    def exchange(self, message_N: Tensor, number: float, told: Sequence[float]) -> tuple[Tensor, list[float]]:
        """Send a message; return the answer, valid until the next exchange, and what is known of all that was told.

        `told`: the loss, then wishes. The mean loss is known at rank 0; rank 0's wishes are heard on every rank, once.
        """
        on_host_N = message_N if message_N.device.type == "cpu" else self._message_N.copy_(message_N)
        heard = self._talk(on_host_N, number, told)
        return self._answer_N.to(message_N.device), heard

    def _talk(self, message_N: Tensor, number: float, told: Sequence[float]) -> list[float]:
        if self.keeper is not None:
            return self.keeper.exchange(message_N, number, told, answer_N=self._answer_N)
        loss, wishes = told[0], len(told) - 1
        try:
            self._sock.sendall(HEADER.pack(True, number, loss))
            heard = GO.unpack(read(self._sock, GO.size))[:wishes]
            for part in self._parts:
                send(self._sock, message_N[part])
                receive(self._sock, self._answer_N[part])
            if self._asks_receipt:
                self._sock.sendall(RECEIPT)
        except (EOFError, OSError) as error:
            raise lost(error, self._timeout_s) from error
        return [loss, *heard]

    def settle(self) -> None:
        """Say goodbye; rank 0 waits until everyone who lives has."""
        if self.keeper is not None:
            self.keeper.settle()
        else:
            self._sock.sendall(HEADER.pack(False, 0.0, 0.0))

    def where(self) -> Tensor | None:
        return self.keeper.where() if self.keeper is not None else None

    def left(self) -> Mapping[int, str | None]:
        return self.keeper.left() if self.keeper is not None else {}

    def start_at(self, c_N: Tensor) -> None:
        if self.keeper is not None:
            self.keeper.move.c_N.copy_(c_N)

    def state_dict(self) -> dict[str, Any]:
        return self.keeper.state_dict() if self.keeper is not None else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if self.keeper is not None:
            self.keeper.load_state_dict(state)


class Served:
    """The center of Original, Async and Hogwild EASGD: the door with `Towards` behind it."""

    is_synchronous = False

    def __init__(self, door: Door) -> None:
        self._door = door
        self.settle, self.where, self.left, self.start_at = door.settle, door.where, door.left, door.start_at
        self.state_dict, self.load_state_dict = door.state_dict, door.load_state_dict

    @torch.no_grad()
    def ask(self, x_N: Tensor, alpha: float, told: Sequence[float]) -> None:
        """Exchange at once: an answer is worth most while it is fresh."""
        c_N, self._heard = self._door.exchange(x_N, alpha, told)
        self._d_N = (x_N - c_N).mul_(alpha)

    def pull(self) -> tuple[Tensor, list[float]]:
        return self._d_N, self._heard
