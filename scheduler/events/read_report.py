"""Reading of what one run has reported, and of the evidence on the end of its job."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contract.api.cluster_report import ClusterReport
from contract.folder.events import Event, Failed, Finished, Paused, Started, Stopped
from contract.folder.files.untrusted_file import UnreadableFileError, size_of
from contract.folder.outputs.record import OUTPUTS
from contract.folder.run_folder import EVENTS, RunFolder
from contract.lifecycle.state import LIVE
from scheduler.clusters.cluster import Gone, JobStatus
from scheduler.context import Context
from scheduler.events.file_end import read_file_end
from scheduler.events.folder_state import FolderState, folder_state, is_folder_gone
from scheduler.events.moments import read_last_sign
from scheduler.events.obstacle import find_obstacle
from scheduler.events.outputs import read_any_outputs, read_finished_outputs
from scheduler.events.rank_points import read_rank_points, unread_of_ranks
from scheduler.events.report import RunReport
from scheduler.events.tail import Damage, Tail, has_grown, read_tail
from scheduler.jobs.manual import adopt_manual_job
from scheduler.outcome.evidence import Evidence, abandon_if_unclaimed, gather_evidence
from scheduler.outcome.exit_cause import LINGER, may_report_more
from store.runs import LiveRun
from store.tables.base import now


class Surroundings(NamedTuple):
    """What the database has on the jobs of one cluster that are gone."""

    hosts: Mapping[int, Sequence[str]]  # by job
    report: ClusterReport | None


def read_report(
    context: Context, run: LiveRun, status: JobStatus, surroundings: Surroundings, max_bytes: int
) -> RunReport | None:
    """Return what a run has reported; None where that is nothing and its job is not gone."""
    folder, is_gone = context.folder_of(run), isinstance(status, Gone) and run.state in LIVE
    if is_gone and run.cluster == "local" and adopt_manual_job(context, folder, run, status):
        return None  # the next tick asks for the status of that job
    is_longer = _has_grown(folder, run.cursor, is_gone=is_gone)
    state = folder_state(context, folder, run, has_grown=is_longer)
    cursor, rank_cursors = (run.cursor, run.rank_cursors) if state is FolderState.USUAL else (0, {})
    unread = unread_of_ranks(folder, rank_cursors)
    if state is FolderState.USUAL and not is_gone and not unread and not is_longer:
        return None
    ranks = read_rank_points(folder, rank_cursors, unread, max_bytes)
    tail = read_tail(folder, cursor, max_bytes)
    others = tail.others()
    if ranks.more and _has_end(others):  # the run ends after all its points are stored
        tail, others = Tail([], cursor, True), []
    is_read = is_gone and not ranks.more
    evidence = _gather(folder, run, status, others, surroundings) if isinstance(status, Gone) and is_read else None
    if evidence is not None and evidence.folder_gone:
        state, tail, ranks = FolderState.GONE, tail._replace(cursor=0), ranks._replace(cursors={})
    outputs = read_finished_outputs(folder, run, others)
    if outputs is None and _has_outputs(others, run.attempt):
        tail = tail._replace(damage=tail.damage.plus(Damage(1, size_of(folder.path, OUTPUTS) or 0)))
    end = read_file_end(folder, run.attempt) if evidence or _has_end(others) else None
    report = RunReport(
        run,
        tail,
        evidence,
        ranks,
        outputs,
        last_sign=read_last_sign(folder, run.attempt) if evidence else None,
        reached=end.reached if end else None,
        state=state,
    )
    return report if evidence or report.size_bytes or state is not FolderState.USUAL else None


def _has_grown(folder: RunFolder, cursor: int, *, is_gone: bool) -> bool:
    try:
        return has_grown(folder, cursor)
    except UnreadableFileError:
        if not is_gone:  # a run whose job is gone ends by that
            raise
        return False


def _has_end(events: Sequence[Event]) -> bool:
    return any(isinstance(event, Finished | Failed | Paused | Stopped) for event in events)


def _has_outputs(events: Sequence[Event], attempt: int) -> bool:
    """Return whether the attempt reports its end with a record of its outputs."""
    return any(isinstance(event, Finished) and event.attempt == attempt and event.outputs for event in events)


def _gather(
    folder: RunFolder, run: LiveRun, gone: Gone, others: Sequence[Event], surroundings: Surroundings
) -> Evidence | None:
    """Return the evidence on a job's end; None while the run may still report the end itself."""
    seen_for = now() - run.observed_at if run.observed_at else None
    started = next((event for event in others if isinstance(event, Started) and event.attempt == run.attempt), None)
    hosts = sorted(set(started.hosts)) if started else surroundings.hosts.get(run.job_id, [])
    evidence = gather_evidence(folder, run, gone, hosts, surroundings.report, seen_for)
    if evidence.failure is None:  # a run whose events are a FIFO has reported nothing
        evidence = evidence._replace(failure=find_obstacle(folder, [EVENTS]))
    if not _has_end(others) and may_report_more(run, evidence):
        return None
    if is_folder_gone(folder):
        is_early = seen_for is not None and seen_for < LINGER  # a shared file system may not show it for a moment
        return None if is_early else evidence._replace(folder_gone=True)
    if (damaged := read_file_end(folder, run.attempt).damaged) is not None:
        evidence = evidence._replace(damaged_end=damaged, outputs=read_any_outputs(folder, run))
    return abandon_if_unclaimed(folder, run, evidence)
