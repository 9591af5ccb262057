"""Run one rank: train, and on an error record why the rank failed."""

import os
import sys
import traceback

from contract.folder.job_identity import PAUSED_EXIT_CODE
from contract.folder.run_folder import RunFolder
from trainers.progress.reporter import Reporter
from trainers.ranks import heartbeat, rank_failures
from trainers.ranks.freed_memory import reuse_freed_memory
from trainers.ranks.rank_info import RankInfo
from trainers.recovery.preemption_signal import PreemptionSignal

FAILED = 1  # exit status


def run_rank(folder: RunFolder, attempt: int, rank_info: RankInfo, *, preemption: PreemptionSignal) -> None:
    """Train on one rank. End this process if the run pauses, or if the rank fails, after recording the failure."""
    reuse_freed_memory()
    report: Reporter | None = None
    try:
        from trainers.training import engine  # loads torch

        if rank_info.rank == 0:
            heartbeat.start_heartbeat(folder, attempt)
        report = Reporter(folder, attempt, rank=rank_info.rank)
        if not engine.train(folder, attempt, rank_info, report=report, preemption=preemption):
            sys.stdout.flush()
            os._exit(PAUSED_EXIT_CODE)
    except (Exception, SystemExit) as error:  # a user's model may call sys.exit
        try:
            traceback.print_exc()
            first = rank_failures.record_failure(folder, attempt, rank_info, error)
            survives = rank_info.rank > 0 and folder.read_spec().rule.survives_workers
            if not first.echo and not survives:  # an echo does not know why the other rank failed
                (report or Reporter(folder, attempt, rank=rank_info.rank)).failed(first)
        finally:
            # exit at once: a normal exit may wait for ranks that no longer exist
            sys.stderr.flush()
            os._exit(FAILED)
