"""Ranks: three processes that carry out one case after the other; a process group lasts for one attempt."""

import pickle
import tempfile
import time
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Self

import torch

from contract.folder.run_folder import RunFolder
from tests.testing.trainers.differential.case import Case
from tests.testing.trainers.differential.engine_rank import run_rank
from tests.testing.trainers.differential.outcome import Outcome, Refusal
from tests.testing.trainers.differential.spec import spec_of
from tests.testing.trainers.forked_ranks import CONTEXT

WORLD = 3
CASE_S = 60.0
MOST_CASES = 100  # of the same processes: each leaves a thread of the ranks' store
OTHERS_S = 2.0  # for which the other ranks of a failed rank may go on


class Ranks:
    """Starts the processes when a case needs them, and anew after a case in which a rank did not answer."""

    def __init__(self) -> None:
        self._processes: list[BaseProcess] = []
        self._pipes: list[Connection] = []
        self._count = 0  # of the cases that these processes have carried out

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def run(self, case: Case, *, pauses: bool = False) -> list[Outcome]:
        """Return the outcome of each rank of a case; `pauses`: with the case's pause and resume."""
        if not self._processes:
            self._start()
        with tempfile.TemporaryDirectory() as path:
            folder = RunFolder(Path(path))
            folder.prepare(spec_of(case))
            for pipe in self._pipes[: case.world]:
                pipe.send((case, folder, pauses))
            outcomes = self._receive(self._pipes[: case.world])
        self._count += 1
        if None in outcomes or self._count == MOST_CASES:
            self._end()
        return [one or Outcome(refusal=Refusal("NoAnswer", "the rank did not answer", -1)) for one in outcomes]

    def _receive(self, pipes: list[Connection]) -> list[Outcome | None]:
        found: dict[Connection, Outcome] = {}
        deadline = time.monotonic() + CASE_S
        while len(found) < len(pipes) and (left_s := deadline - time.monotonic()) > 0:
            for pipe in wait([pipe for pipe in pipes if pipe not in found], left_s):
                assert isinstance(pipe, Connection)
                try:
                    found[pipe] = pickle.loads(pipe.recv_bytes())
                except EOFError:
                    return [found.get(one) for one in pipes]
                if found[pipe].refusal is not None:
                    deadline = min(deadline, time.monotonic() + OTHERS_S)
        return [found.get(pipe) for pipe in pipes]

    def _start(self) -> None:
        for rank in range(WORLD):
            here, there = CONTEXT.Pipe()
            process = CONTEXT.Process(target=_serve, args=(rank, there), daemon=True)
            process.start()
            there.close()
            self._processes.append(process)
            self._pipes.append(here)

    def _end(self) -> None:
        for process in self._processes:
            process.kill()
            process.join()
        for pipe in self._pipes:
            pipe.close()
        self._processes, self._pipes, self._count = [], [], 0


def _serve(rank: int, pipe: Connection) -> None:
    torch.set_num_threads(1)
    while True:
        try:
            case, folder, pauses = pipe.recv()
        except EOFError:
            return
        # by value, because torch would share the memory of tensors, which ends with this process
        pipe.send_bytes(pickle.dumps(run_rank(case, rank, folder, pauses=pauses)))
