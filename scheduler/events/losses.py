"""What was lost of a run's files: lines that cannot be read, a folder that is gone, and the steps repeated for it."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from contract.folder.events import Event, Noticed, Points, Resumed
from contract.lifecycle.state import ENDED
from contract.lifecycle.unread import Unread
from scheduler.events.folder_state import FolderState
from scheduler.events.report import RunReport
from store.metrics import restarts, series
from store.tables.runs import Run


def note_losses_of_folder(run: Run, report: RunReport, stored: int) -> None:
    """Add what a report shows to the run's counts; `stored`: the last step that was stored before."""
    known = _known(run)
    new = report.tail.damage.plus(report.ranks.damage)
    changed = {"lines": known.lines + new.lines, "size_bytes": known.size_bytes + new.size_bytes}
    if report.state is FolderState.GONE:
        changed["folder_gone"] = True
    if report.state is not FolderState.USUAL and stored:
        changed["lost_history"] = max(stored, known.lost_history or 0)
    _store(run, known.model_copy(update=changed))


def note_torn_line(run: Run, report: RunReport) -> None:
    """Count the last line of a run that has ended if it has no end; a further attempt ends the line itself."""
    if report.tail.rest and run.state in ENDED:
        known = _known(run)
        more = {"lines": known.lines + 1, "size_bytes": known.size_bytes + report.tail.rest}
        _store(run, known.model_copy(update=more))


def note_tracker(run: Run, event: Noticed) -> None:
    """Keep what the agent says of another tracker, of which no metric is read."""
    _store(run, _known(run).model_copy(update={"metrics": event.metrics}))


def count_repeated(db: Session, run: Run, events: Sequence[Event]) -> None:
    """Store where an attempt began that does not know the steps of earlier ones, and how many of them it repeats.

    Its own report says that nothing is lost, or it makes none, because the events of earlier attempts are gone.
    """
    before = _known(run).lost_history
    if before is None or run.attempt == 1:
        return
    mine = [event for event in events if isinstance(event, Resumed | Points) and event.attempt == run.attempt]
    moving = series.moving(db, run.id) if mine else set()  # a metric that each attempt writes once says nothing
    first = next((event for event in mine if isinstance(event, Resumed) or moving.intersection(event.values)), None)
    if first is None:
        return
    step = first.step if isinstance(first, Resumed) else max(0, first.step - 1)
    if (lost := before - step) > 0:
        repeated = Resumed(attempt=run.attempt, at=first.at, step=step, lost_steps=lost)
        restarts.store_restarts(db, run.id, [repeated])
    _store(run, _known(run).model_copy(update={"lost_history": None}))


def _known(run: Run) -> Unread:
    return Unread() if run.unread is None else run.unread


def _store(run: Run, unread: Unread) -> None:
    if unread != _known(run):
        run.unread = unread
