"""Further epochs of a run that is done: it goes on from its newest checkpoint."""

from dataclasses import dataclass

from sqlalchemy import Engine

from contract.folder.run_folder import RunFolder
from contract.folder.stored_checkpoints import newest_checkpoint
from contract.lifecycle.state import State
from contract.spec.any_run import AnyRun, read_run
from contract.spec.recorded.run import RecordedSpec
from contract.spec.recorded.stored_run import read_stored_run
from contract.validation import ValidationIssue
from orders.folders import Folders
from orders.refused import Kind, Refused, conflict, invalid
from store import runs
from store.lifecycle import going_on
from store.locks import lock_runs
from store.session import snapshot, transaction
from store.tables.runs import Run

NOT_EXTENDED = "the run cannot be extended"


@dataclass(frozen=True)
class Extended:
    """A run with its number of epochs and steps."""

    epochs: int
    steps: int
    from_step: int | None  # of the checkpoint from which it goes on; None: it had this number of epochs
    state: State


def extend(engine: Engine, folders: Folders, run_id: int, epochs: int, *, by: str | None = None) -> Extended | Refused:
    """Queue a run that is done, to go on to more epochs; `by` is the person who asked for it.

    It reads the run's folder, so the caller holds no transaction. Raise OSError if the folder gives no answer.
    """
    with snapshot(engine) as db:
        run = runs.find(db, run_id)
    if run is None:
        return Refused(f"there is no run {run_id}", kind=Kind.ABSENT)
    spec = read_stored_run(run.spec)
    if isinstance(spec, RecordedSpec):
        return invalid(NOT_EXTENDED, "epochs", "the run was carried out elsewhere, and nothing here can carry it on")
    if spec.total_epochs is None:
        return Refused(NOT_EXTENDED, list(spec.extension_issues(epochs)))
    if epochs == spec.total_epochs:
        return Extended(epochs, run.steps, None, run.state)
    longer = _longer(run, spec, epochs)
    if isinstance(longer, Refused):
        return longer
    # the file system may be slow, and no transaction waits for it
    checkpoint = newest_checkpoint(RunFolder.of(folders.runs, run.id, run.key).path)
    if checkpoint is None:
        why = "the run has no checkpoint from which it could go on: checkpoint.at_end saves one after the last step"
        return invalid(NOT_EXTENDED, "checkpoint.at_end", why)
    with transaction(engine) as db:
        is_locked = lock_runs(db, Run.id == run_id, Run.state == State.DONE, Run.deleted_at.is_(None))
        if not is_locked or (current := runs.find(db, run_id)) is None:
            return conflict(f"run {run_id} has changed meanwhile: send the request again")
        going_on.extend(db, current, longer, epochs, by=by)
    return Extended(epochs, longer.steps, checkpoint.step, State.QUEUED)


def _longer(run: Run, spec: AnyRun, epochs: int) -> AnyRun | Refused:
    """Return the spec with more epochs, unless the run cannot go on."""
    if run.state is not State.DONE:
        return conflict(f"run {run.id} is {run.state}, and only a run that is done can be extended")
    issues = list(spec.extension_issues(epochs))
    if "epochs" in run.values:
        message = "the number of epochs is an axis of the experiment: add a point with another number"
        issues.append(ValidationIssue(path="epochs", message=message))
    return Refused(NOT_EXTENDED, issues) if issues else read_run({**run.spec, "epochs": epochs})
