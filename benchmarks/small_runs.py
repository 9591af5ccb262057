"""Execute many small runs with the real engine, several at the same time, each on one core."""

import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contract.folder.events import Points, event_reader
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from trainers.ranks.rank_info import RankInfo

if TYPE_CHECKING:
    from trainers.progress.reporter import Reporter


def execute_runs(runs: Sequence[dict[str, Any]], *, workers: int) -> Iterator[list[dict[str, float | None]]]:
    """Execute the runs; yield the evaluations of each run in order. A diverged run has fewer evaluations."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(execute_run, runs)


def execute_run(
    run: dict[str, Any], *, make_reporter: "Callable[[RunFolder], Reporter] | None" = None
) -> list[dict[str, float | None]]:
    """Execute one run in this process and return its evaluations; a reporter may end it by raising Diverged."""
    from trainers.progress.reporter import Reporter
    from trainers.recovery.preemption_signal import PreemptionSignal
    from trainers.training import engine  # imports torch, once per process
    from trainers.training.diverged import Diverged

    with tempfile.TemporaryDirectory() as home:
        folder = RunFolder(Path(home) / "run")
        folder.prepare(RunSpec.model_validate(run))
        rank_info = RankInfo(0, 1, 0, 1, host=socket.gethostname(), address="127.0.0.1", cores=1)
        stdout = os.dup(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # suppress the engine's line per epoch
        try:
            engine.train(
                folder,
                1,
                rank_info,
                report=make_reporter(folder) if make_reporter else Reporter(folder, 1, rank=0),
                preemption=PreemptionSignal(lambda reason: None),
            )
        except Diverged:
            import torch.distributed as dist

            dist.destroy_process_group()
        finally:
            os.dup2(stdout, 1)
            os.close(stdout)
        lines = [event_reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]
    return [dict(event.values) for event in lines if isinstance(event, Points) and "epoch" in event.values]
