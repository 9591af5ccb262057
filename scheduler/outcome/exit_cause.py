"""Why an attempt ended: its own word and its cluster's weighed against each other, once no more of its own can come."""

import re
from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from contract.diagnosis.log_patterns import first_word
from contract.folder.events import Event, Paused, Started
from contract.folder.job_identity import PAUSED, warning_s
from contract.folder.run_folder import GIVEN_UP, RunFolder
from contract.spec.resources import Slurm
from contract.spec.retry import Cause
from contract.spec.run import RunSpec
from scheduler.clusters.cluster import Gone
from scheduler.outcome.evidence import LOG_BYTES, bytes_short
from scheduler.outcome.excluded_hosts import failed_hosts
from scheduler.outcome.retry import SUSPECTED
from store.runs import LiveRun
from store.tables import Run, now

LINGER = timedelta(seconds=60)  # for so long a shared file system may not show what a node has written
VAGUE = (Cause.DONE, Cause.FAILURE, Cause.LOST)  # the run itself knows better
NOT_ITS_OWN = (Cause.DONE, Cause.TIME_LIMIT, Cause.OUT_OF_MEMORY)  # of whoever had not begun as its shared job ended
# squeue's and sacct's words for a script that came to its end, as when the ranks pause: no signal ended it
LEFT_BY_ITSELF = re.compile(rf"\((NonZeroExitCode|exit code {PAUSED}:0)\)")
BEGINNING = timedelta(minutes=5)  # from a job's first moment until its ranks have met and say that they started


def why_paused(run: Run, paused: Paused, told_with: Sequence[Event]) -> Cause:
    """A warning is of the time limit in a job that is old enough for it; some clusters warn of a preemption so too."""
    need = RunSpec.model_validate(run.spec).resources
    if "SIGUSR2" not in paused.reason or not isinstance(need, Slurm):
        return Cause.PREEMPTED
    mine = (event for event in told_with if isinstance(event, Started) and event.attempt == paused.attempt)
    started = next(mine, None)  # else it was told before, and that moment stored
    ran = timedelta(seconds=paused.at - started.at) if started else now() - run.moved_at
    warned = timedelta(minutes=need.minutes, seconds=-warning_s(need.minutes))
    return Cause.TIME_LIMIT if ran + BEGINNING >= warned else Cause.PREEMPTED


def may_say_more(folder: RunFolder, run: LiveRun, gone: Gone) -> bool:
    """Whether ranks that left in good order may have said why in lines that are still under way."""
    if run.own_cause or run.gone_at is None or now() - run.gone_at >= LINGER:
        return False
    if gone.cause is Cause.FAILURE:
        return _may_have_paused(folder, run, gone)
    return gone.cause is Cause.DONE


def _may_have_paused(folder: RunFolder, run: LiveRun, gone: Gone) -> bool:
    """For Slurm a pause is a failure; what the folder shows of a fall is no younger than the run's own last line."""
    if run.member is not None and (status := folder.end_status(run.attempt)) is not None:
        return status == PAUSED
    if not LEFT_BY_ITSELF.search(gone.reason) or folder.falls(run.attempt) or bytes_short(folder) is not None:
        return False
    said = first_word(folder.log_part(run.attempt, LOG_BYTES))
    return said is None or said.bare == f"Exited with exit code {PAUSED}"


def cause_of(db: Session, folder: RunFolder, run: Run, gone: Gone) -> Cause:
    """Why the job ended: in the cluster's words where these are precise, else in the run's own."""
    if gone.cause is Cause.FAILURE and folder.began_again(run.attempt):
        return Cause.PREEMPTED  # requeued; that it left at its second start is no failure
    if gone.cause is Cause.FAILURE and folder.claimed_by(run.attempt) == GIVEN_UP:
        return Cause.LOST  # its launcher came back as it was given up, so the job had to leave
    if run.member is not None and gone.cause in NOT_ITS_OWN and folder.claimed_by(run.attempt) == GIVEN_UP:
        return Cause.LOST
    # its last word was said, and it was we who ended the ranks that hung after it (scheduler/ticks/reap.py)
    swept = gone.cause is Cause.CANCELLED and run.stop_asked_at is not None and run.stop_wanted_at is None
    if run.own_cause and (swept or gone.cause in VAGUE):
        innocent = run.own_cause == SUSPECTED and not failed_hosts(db, run)
        return Cause.FAILURE if innocent else Cause(run.own_cause)
    return Cause.FAILURE if gone.cause is Cause.DONE else gone.cause
