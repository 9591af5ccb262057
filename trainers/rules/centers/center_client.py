"""CenterClient: a rank's access to a center that rank 0 serves, for the asynchronous rules and the original EASGD.

The center has its own connections, so it works with any backend, also with one in which rank 0 cannot receive from any
rank that is ready. The center is in the host's memory; tensors of a GPU are copied to and from there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runners.allreduce import TIMEOUT_S
from trainers.collectives.wire.handshake import receive_exactly
from trainers.rules.call_timer import CallTimer, call_untimed
from trainers.rules.centers.center_protocol import (
    HEADER,
    PERMISSION,
    RECEIPT,
    Parts,
    center_lost,
    connect_to_center,
    open_center,
    receive,
    send,
)
from trainers.rules.centers.center_server import CenterServer
from trainers.rules.centers.center_update import CenterUpdate
from trainers.rules.centers.request_order import RequestOrder


class CenterClient:
    """Exchanges messages with the center; on rank 0 it has the server. All ranks of the group make theirs together."""

    def __init__(
        self,
        move: CenterUpdate,
        order: RequestOrder,
        *,
        parts: Parts | None = None,
        group: dist.ProcessGroup | None = None,
        timeout_s: float = TIMEOUT_S,
        updating: CallTimer = call_untimed,
    ) -> None:
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        self._parts, self._timeout_s = parts or [slice(None)], timeout_s
        self._needs_receipt = order.needs_receipt
        self._message_N, self._answer_N = torch.empty_like(move.c_N), torch.empty_like(move.c_N)
        self.server = CenterServer(move, order, self._parts, world=world, updating=updating) if rank == 0 else None
        listener, address, secret = open_center(rank == 0, group)
        if self.server is not None:
            assert listener is not None
            self.server.open(listener, secret, timeout_s=timeout_s)
        else:
            self._sock = connect_to_center(address, secret, rank=rank, timeout_s=timeout_s)

    def exchange(self, message_N: Tensor, number: float, values: Sequence[float]) -> tuple[Tensor, list[float]]:
        """Send a message; return the answer, valid until the next exchange, and the received values.

        `values`: the loss, then requests. Rank 0 receives the mean loss; every rank receives rank 0's requests, once.
        """
        on_host_N = message_N if message_N.device.type == "cpu" else self._message_N.copy_(message_N)
        received = self._exchange_on_host(on_host_N, number, values)
        return self._answer_N.to(message_N.device), received

    def _exchange_on_host(self, message_N: Tensor, number: float, values: Sequence[float]) -> list[float]:
        if self.server is not None:
            return self.server.exchange(message_N, number, values, answer_N=self._answer_N)
        loss, requests = values[0], len(values) - 1
        try:
            self._sock.sendall(HEADER.pack(True, number, loss))
            received = PERMISSION.unpack(receive_exactly(self._sock, PERMISSION.size))[:requests]
            for part in self._parts:
                send(self._sock, message_N[part])
                receive(self._sock, self._answer_N[part])
            if self._needs_receipt:
                self._sock.sendall(RECEIPT)
        except (EOFError, OSError) as error:
            raise center_lost(error, self._timeout_s) from error
        return [loss, *received]

    def wait_for_all(self) -> None:
        """Report that this rank has finished; rank 0 waits until every rank that is not lost has."""
        if self.server is not None:
            self.server.wait_for_all()
        else:
            self._sock.sendall(HEADER.pack(False, 0.0, 0.0))

    def read_center(self) -> Tensor | None:
        """Return a copy of the center on rank 0, None on other ranks."""
        return self.server.read_center() if self.server is not None else None

    def departed_ranks(self) -> Mapping[int, str | None]:
        """Return, on rank 0, the ranks that exchange no more, and why each was lost."""
        return self.server.departed_ranks() if self.server is not None else {}

    def set_center(self, c_N: Tensor) -> None:
        """Set the center, on rank 0."""
        if self.server is not None:
            self.server.move.c_N.copy_(c_N)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the server, which is empty on ranks other than 0."""
        return self.server.state_dict() if self.server is not None else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of the server, on rank 0."""
        if self.server is not None:
            self.server.load_state_dict(state)
