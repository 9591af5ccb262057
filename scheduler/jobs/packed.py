"""Runs that share a job: one has ended when its own part has, and is stopped by a word in its folder.

The job ends when the last of them has. What befalls it as a whole befalls all that still live, and whoever carries them
writes no end of theirs then: the cluster's word counts, as for a run that has its job alone.
"""

import logging
from collections.abc import Sequence
from typing import Any

from contract.diagnosis.log_patterns import first_word
from contract.folder.run_folder import GIVEN_UP
from contract.lifecycle.failure import FailureKind
from contract.lifecycle.state import LIVE, State
from contract.spec.retry import Cause
from scheduler.clusters.cluster import Gone
from scheduler.context import Site
from store import runs
from store import submissions as launches
from store.session import snapshot, transaction
from store.tables import Run

LAST_BYTES = 4096
log = logging.getLogger(__name__)


def end_of(site: Site, row: Any) -> Gone | None:
    """How a run's own part of a shared job ended; none while it lives, or has a job of its own."""
    if row.member is None:
        return None
    folder = site.folder_of(row)
    try:
        status = folder.end_status(row.attempt)
    except (OSError, ValueError):  # a folder that is away for a moment must not keep the others from being looked at
        return None
    if status is None:
        return None
    if status == 0:
        return Gone("its part of the job ended", Cause.DONE)
    word = first_word(folder.log_part(row.attempt, LAST_BYTES))
    cause = Cause.OUT_OF_MEMORY if word and word.kind is FailureKind.OUT_OF_MEMORY else Cause.FAILURE
    return Gone(f"its part of the job ended with exit code {status}", cause)


def end_alone(site: Site, several: Sequence[Run], *, force: bool) -> list[Run]:
    """Ask those whose jobs go on for others to end, one by one; return the rest, whose jobs may be ended."""
    with snapshot(site.engine) as db:
        shared = launches.shared(db, several)
    apart = [run for run in several if run.member is not None and (run.job_name, run.task) in shared]
    begun = {}
    for run in apart:
        try:
            begun[run.id] = _wish_end(site, run, force=force)
        except OSError as error:  # a later tick tries again
            log.warning("run %d could not be asked to end: %s", run.id, error)
    if told := [run for run in apart if run.id in begun]:
        with transaction(site.engine) as db:
            runs.note_told_to_end(db, told, force=force)
            for run in told:
                if not begun[run.id]:
                    runs.move(db, run, State.CANCELLED, reason=run.stop_reason)
    return [run for run in several if run not in apart]


def _wish_end(site: Site, run: Run, *, force: bool) -> bool:
    """Ask one to end, False if it has not begun and never will: its claim is taken; else the wish is in its folder."""
    folder = site.folder_of(run)
    if run.state in LIVE and run.stop_wanted_at and folder.claim(run.attempt, GIVEN_UP) == GIVEN_UP:
        return False
    folder.wish_end(run.attempt, force=force)
    return True
