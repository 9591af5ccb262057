"""A mesh whose ranks are threads: every collective carries out its plan in memory, and counts the words it sends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import torch
from torch import Tensor

from trainers.collectives.plan import Plan
from trainers.collectives.plans import blocks, ring
from trainers.tensor.mesh import GROUPS, Mesh, Shape

PATIENCE_S = 120.0


@dataclass
class Board:
    """The vectors of a group's threads, and the words that each has sent."""

    size: int
    vectors: list[Tensor] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.barrier = Barrier(self.size, timeout=PATIENCE_S)
        self.vectors, self.sent = [torch.empty(0)] * self.size, [0] * self.size

    def run(self, index: int, plan: Plan, vector: Tensor) -> Tensor:
        """Carry out a plan in place on the vectors of all threads."""
        self.vectors[index] = vector
        self.barrier.wait()
        if index == 0:
            self._carry_out(plan)
        self.barrier.wait()
        return vector

    def _carry_out(self, plan: Plan) -> None:
        for sends in plan:
            moved = []
            for send in sends:
                length = self.vectors[send.src].numel()
                at = slice(send.chunks.start * length // plan.chunks, send.chunks.stop * length // plan.chunks)
                moved.append((send, at, self.vectors[send.src][at].clone()))
            for send, at, words in moved:
                self.sent[send.src] += words.numel()
                if send.add:
                    self.vectors[send.dst][at] += words
                else:
                    self.vectors[send.dst][at] = words


class ThreadGroup:
    """The collectives of one thread."""

    def __init__(self, board: Board, index: int) -> None:
        self.size, self.index, self._board = board.size, index, board
        self._ranks = range(board.size)

    def all_gather(self, x: Tensor) -> Tensor:
        """Return the tensors of all threads."""
        whole = x.new_zeros(self.size, *x.shape)
        whole[self.index] = x.detach()
        self._run(blocks.all_gather(self._ranks), whole)
        return whole.flatten(0, 1)

    def reduce_scatter(self, x: Tensor) -> Tensor:
        """Return this thread's block of the sum."""
        whole = x.detach().clone(memory_format=torch.contiguous_format)
        self._run(blocks.reduce_scatter(self._ranks), whole)
        return whole.chunk(self.size)[self.index].clone()

    def all_reduce(self, x: Tensor) -> Tensor:
        """Return the sum."""
        whole = x.detach().clone(memory_format=torch.contiguous_format)
        self._run(ring.plan([self._ranks]), whole)
        return whole

    def broadcast(self, x: Tensor, root: int) -> Tensor:
        """Return the tensor of a thread."""
        return self._from_root(blocks.broadcast, x, root)

    def reduce(self, x: Tensor, root: int) -> Tensor:
        """Return the sum on a thread, and no numbers on the others."""
        whole = self._from_root(blocks.reduce, x, root)
        return whole if self.index == root else torch.full_like(whole, torch.nan)

    def _from_root(self, make: Callable[[list[int]], Plan], x: Tensor, root: int) -> Tensor:
        whole = x.detach().clone(memory_format=torch.contiguous_format)
        self._run(make([*self._ranks[root:], *self._ranks[:root]]), whole)
        return whole

    def _run(self, plan: Plan, whole: Tensor) -> None:
        self._board.run(self.index, plan, whole.view(-1))


class ThreadMesh:
    """A mesh of threads."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._boards = {
            (axes, tuple(members)): Board(len(members))
            for axes in GROUPS[shape.kind]
            for members in shape.every_group(axes)
        }

    @property
    def words_sent(self) -> int:
        """The words that all ranks have sent together."""
        return sum(sum(board.sent) for board in self._boards.values())

    def words_of_ranks(self) -> list[int]:
        """Return the words that each rank has sent."""
        total = [0] * self.shape.size
        for (_, members), board in self._boards.items():
            for member, words in zip(members, board.sent, strict=True):
                total[member] += words
        return total

    def run(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return function(mesh, *arguments) of every rank; raise the first rank's error."""
        results: list[Any] = [None] * self.shape.size
        errors: list[BaseException] = []

        def call(rank: int) -> None:
            torch.set_num_threads(1)
            try:
                results[rank] = function(self._mesh_of(rank), *arguments)
            except BaseException as error:
                errors.append(error)
                for board in self._boards.values():
                    board.barrier.abort()

        threads = [Thread(target=call, args=(rank,)) for rank in range(self.shape.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise next((error for error in errors if not isinstance(error, BrokenBarrierError)), errors[0])
        return results

    def _mesh_of(self, rank: int) -> Mesh:
        groups = {}
        for axes in GROUPS[self.shape.kind]:
            members = tuple(self.shape.members(axes, rank))
            groups[axes] = ThreadGroup(self._boards[axes, members], members.index(rank))
        return Mesh(self.shape, rank, groups)
