"""Labels: changes of names, notes, tags, owner, project and the archive, and the search in them."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from contract.api.labels import ExperimentChange, LabelChange, RunChange
from contract.objective import chosen
from contract.spec.labels import MAX_TAGS
from store import changes
from store.lifecycle import tags
from store.metrics.objectives import change_objective
from store.tables.base import now
from store.tables.experiments import Experiment, ExperimentTag
from store.tables.runs import Run

TEXTS = ("name", "description", "owner", "project")


class SearchDecidesError(ValueError):
    """The objective of an experiment with a search is its search's."""


class TooManyTagsError(ValueError):
    """The change would give an experiment or a run too many tags."""


def change_experiment(db: Session, experiment_id: int, change: ExperimentChange) -> Experiment | None:
    """Change the labels of an experiment; return None if there is none. Raise TooManyTagsError, SearchDecidesError.

    Its runs go to the archive and return from it with the experiment.
    """
    mine = (Experiment.id == experiment_id, Experiment.deleted_at.is_(None))
    experiment = db.scalar(select(Experiment).where(*mine).with_for_update(key_share=True))
    if experiment is None:
        return None
    for name in TEXTS:
        if (text := getattr(change, name)) is not None:
            setattr(experiment, name, text)
    if change.objective is not None:
        if experiment.spec.get("search"):
            raise SearchDecidesError("a search goes on with the metric that it was submitted with")
        change_objective(db, experiment, chosen(change.objective))
    _change_row(experiment, change)
    if change.archived is not None:  # the list of all runs shows or hides them
        db.execute(update(Run).where(Run.experiment_id == experiment_id).values(archived_at=experiment.archived_at))
    present = tags.of_experiments(db, [experiment_id]).get(experiment_id, [])
    tags.store_experiment_tags(db, experiment_id, present=present, wanted=_wanted(present, change))
    changes.record_experiment(db, experiment_id)
    return experiment


def change_run(db: Session, run_id: int, change: RunChange) -> bool:
    """Change the labels of a run; return False if there is none. Raise TooManyTagsError."""
    mine = (Run.id == run_id, Run.deleted_at.is_(None))
    run = db.scalar(select(Run).where(*mine).with_for_update(key_share=True))
    if run is None:
        return False
    _change_row(run, change)
    if change.left_out is not None:
        run.left_out = change.left_out.strip() or None
    present = tags.of_runs(db, [run_id]).get(run_id, [])
    tags.store_run_tags(db, run_id, present=present, wanted=_wanted(present, change))
    changes.record_runs(db, [run_id])
    return True


def has_text(text: str) -> ColumnElement[bool]:
    """Return the condition for experiments with `text` in a label; capitals and small letters differ."""
    columns = (*(getattr(Experiment, name) for name in TEXTS), Experiment.notes)
    # LIKE differs in case between the databases
    in_columns = [func.replace(column, text, "") != column for column in columns]
    tag = ExperimentTag.tag
    in_tags = select(ExperimentTag.experiment_id).where(
        ExperimentTag.experiment_id == Experiment.id, func.replace(tag, text, "") != tag
    )
    return or_(*in_columns, in_tags.exists())


def visible(table: type[Experiment] | type[Run], *, archived: bool) -> list[ColumnElement[bool]]:
    """Return the conditions for rows that a list shows: those of the archive, or the others."""
    if not archived:
        return [table.deleted_at.is_(None), table.archived_at.is_(None)]
    # by ids, because SQLite would otherwise read the whole table in the order of the list
    return [table.deleted_at.is_(None), table.id.in_(select(table.id).where(table.archived_at.is_not(None)))]


def _change_row(row: Experiment | Run, change: LabelChange) -> None:
    if change.notes is not None:
        row.notes = change.notes
    if change.archived is not None and change.archived != (row.archived_at is not None):
        row.archived_at = now() if change.archived else None


def _wanted(present: Sequence[str], change: LabelChange) -> list[str]:
    base = present if change.tags is None else change.tags
    wanted = sorted({*base, *change.add_tags} - {*change.remove_tags})
    if len(wanted) > MAX_TAGS:
        raise TooManyTagsError(f"{len(wanted)} tags are more than the limit of {MAX_TAGS}")
    return wanted
