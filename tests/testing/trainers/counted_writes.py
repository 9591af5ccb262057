"""Count the writes of blocks while workers are killed: a worker that notes each block in a file before it writes it.

    python counted_writes.py LOG TASK_SECONDS [RUN_FOLDER]

Carry out tasks as `python -m trainers.volume` does; each takes TASK_SECONDS longer, as if it waited for an accelerator.
"""

import hashlib
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from trainers.volume.__main__ import main
from trainers.volume.chunks import Shape
from trainers.volume.stores import raw
from trainers.volume.stores.durable import write_durably
from trainers.volume.task_folder import TaskFolder, Worker
from trainers.volume.work.chunk_task import Tasks
from trainers.volume.work.plan import CHUNKS, NUMBERS, Plan


class Writes(NamedTuple):
    """Blocks of the outputs, their writes, and the leases of tasks beyond the first."""

    blocks: int
    writes: int
    taken_over: int


def work_counted(log: Path, task_s: float, arguments: list[str]) -> int:
    """Carry out tasks, and note each block in `log`; return the exit status."""
    carry_out = Tasks.carry_out

    def write_and_note(path: Path, content: bytes) -> None:
        # before the write: a kill between the two must not hide a write
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{path}\t{hashlib.sha256(content).hexdigest()}\n".encode())
        os.close(descriptor)
        write_durably(path, content)

    def carry_out_slowly(tasks: Tasks, stage: str, index: int) -> None:
        time.sleep(task_s)
        carry_out(tasks, stage, index)

    with patch.object(raw, "write_durably", write_and_note), patch.object(Tasks, "carry_out", carry_out_slowly):
        return main(arguments)


def check_writes(log: Path, plan: Plan, outputs: dict[str, str]) -> Writes:
    """Assert what is promised of each block; `outputs` are folders of raw volumes and the stage that writes each.

    A block is written at least once, at most once for each lease of its task, and always with the same bytes. So a task
    that no worker took over writes its blocks exactly once.
    """
    lines = [line.split("\t") for line in log.read_text().splitlines()]
    written, contents = Counter(path for path, _ in lines), {(path, content) for path, content in lines}
    assert len(contents) == len(written), "a block was written with two contents"
    tasks = TaskFolder(plan.work / "tasks", Worker("reader"), lease_s=60)
    blocks = writes = 0
    for name, stage in outputs.items():
        looked = tasks.look(stage)
        assert looked.done == set(range(len(plan.grid)))
        for file in Path(name).glob("*/*.raw"):
            count, leases = written[str(file)], looked.held[_task_of(file, plan)]
            assert 1 <= count <= leases, (file, count, leases)
            blocks, writes = blocks + 1, writes + count
    held = [generation for stage in (CHUNKS, NUMBERS) for generation in tasks.look(stage).held.values()]
    return Writes(blocks, writes, sum(held) - len(held))


def _task_of(file: Path, plan: Plan) -> int:
    """Return the number of the chunk that a block is in."""
    block: Shape = raw.open_raw(file.parents[1]).layout.block
    place = (file.parent.name, *file.stem.split("-"))
    z, y, x = (int(p) * size // chunk for p, size, chunk in zip(place, block, plan.spec.chunk, strict=True))
    return plan.grid.index((z, y, x))


if __name__ == "__main__":
    sys.exit(work_counted(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
