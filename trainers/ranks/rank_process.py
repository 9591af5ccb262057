"""The life of one rank: train, or say why it could not."""

import os
import sys
import traceback

from contract.folder.job_identity import PAUSED
from contract.folder.run_folder import RunFolder
from trainers.progress.reporter import Report
from trainers.ranks import heartbeat
from trainers.ranks import rank_failures as falls
from trainers.ranks.rank_info import Place
from trainers.recovery.preemption_signal import Notice

FALLEN = 1  # exit status


def live(folder: RunFolder, attempt: int, place: Place, *, notice: Notice) -> None:
    """Carry out one rank; where it pauses or fails, end this process, in the latter case with a note in the folder."""
    try:
        from trainers.training import engine  # loads torch

        if place.rank == 0:
            heartbeat.start(folder, attempt)
        report = Report(folder, attempt, rank=place.rank)
        if not engine.train(folder, attempt, place, report=report, notice=notice):
            sys.stdout.flush()
            os._exit(PAUSED)
    except (Exception, SystemExit) as error:  # a net of the user's own may call sys.exit
        try:
            traceback.print_exc()
            first = falls.note(folder, attempt, place, error)
            goes_on = place.rank > 0 and folder.read_spec().rule.survives_workers
            if not first.echo and not goes_on:  # otherwise whoever ended the other rank knows better
                Report(folder, attempt, rank=place.rank).failed(first)
        finally:
            # at once: cleaning up behind broken connections may wait for ranks that are gone
            sys.stderr.flush()
            os._exit(FALLEN)
