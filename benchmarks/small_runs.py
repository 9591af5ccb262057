"""Carries many small runs out, each whole and by the real engine, several at a time and each on one core."""

import os
import socket
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from contract.folder.events import Points, reader
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from trainers.ranks.rank_info import Place


def outcomes(runs: Sequence[dict[str, Any]], *, workers: int) -> Iterator[list[dict[str, float | None]]]:
    """Carry the runs out; yield, in their order, what each said after its epochs. A run that diverged said less."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(outcome, runs)


def outcome(run: dict[str, Any]) -> list[dict[str, float | None]]:
    """Carry one run out in this process."""
    from trainers.progress.reporter import Report
    from trainers.recovery.preemption_signal import Notice
    from trainers.training import engine  # loads torch, once in each process
    from trainers.training.loop import Diverged

    with tempfile.TemporaryDirectory() as home:
        folder = RunFolder(Path(home) / "run")
        folder.prepare(RunSpec.model_validate(run))
        place = Place(0, 1, 0, 1, host=socket.gethostname(), address="127.0.0.1", cores=1)
        quiet = os.dup(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # an epoch's line for people is not wanted here
        try:
            engine.train(folder, 1, place, report=Report(folder, 1, rank=0), notice=Notice(lambda reason: None))
        except Diverged:
            import torch.distributed as dist

            dist.destroy_process_group()
        finally:
            os.dup2(quiet, 1)
            os.close(quiet)
        said = [reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]
    return [dict(event.values) for event in said if isinstance(event, Points) and "epoch" in event.values]
