"""Report: rank 0 of a run writes the states of all chunks into the run's folder, and logs how many are done."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import bigbatch
from contract.folder.chunk_states import (
    DONE,
    LABELED,
    LEASED,
    MAX_CHUNKS,
    WAITING,
    ChunkStates,
    StageName,
    StageProgress,
)
from contract.folder.run_folder import RunFolder
from trainers.volume.task_folder import Looked, TaskFolder
from trainers.volume.work.plan import CHUNKS, MERGE, NUMBERS, Plan

PERIOD_S = 1.0


class Report:
    """Writes at most once a second, unless it is the last time."""

    def __init__(
        self, plan: Plan, tasks: TaskFolder, run_folder: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._plan, self._tasks, self._folder, self._clock = plan, tasks, RunFolder(run_folder), clock
        self._due, self._done = 0.0, -1

    def update(self, *, is_last: bool = False) -> None:
        """Write the states; a disk that is full for a moment delays them."""
        if not is_last and self._clock() < self._due:
            return
        self._due = self._clock() + PERIOD_S
        stages = {stage: self._tasks.look(stage) for stage in self._plan.stages}
        done = sum(len(looked.done) for looked in stages.values())
        with suppress(OSError):
            if len(self._plan.grid) <= MAX_CHUNKS:
                self._folder.write_chunks(describe(self._plan, stages))
        if done != self._done:
            bigbatch.log(step=done, chunks=len(stages[CHUNKS].done))
            self._done = done


def describe(plan: Plan, stages: dict[str, Looked]) -> ChunkStates:
    """Return the states of all chunks."""
    names: tuple[StageName, ...] = (CHUNKS, MERGE, NUMBERS)
    progress = [
        StageProgress(name=name, done=len(stages[name].done), tasks=plan.stages[name])
        for name in names
        if name in stages
    ]
    chunks, numbers = stages[CHUNKS], stages.get(NUMBERS)
    states = []
    for index in range(len(plan.grid)):
        if index in chunks.done:
            states.append(DONE if numbers is None else _state_of(numbers, index, LABELED))
        else:
            states.append(_state_of(chunks, index, WAITING))
    taken = sum(generation - 1 for looked in stages.values() for generation in looked.held.values())
    return ChunkStates(counts=[*plan.grid.counts], states="".join(states), stages=progress, taken_over=taken)


def _state_of(looked: Looked, index: int, waiting: str) -> str:
    if index in looked.done:
        return DONE
    generation = looked.held.get(index)
    return waiting if generation is None or (index, generation) in looked.freed else LEASED
