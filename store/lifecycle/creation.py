"""A new experiment: its row, and those of its runs, steps or search."""

from collections.abc import Collection

from sqlalchemy.orm import Session

from contract.objective import stored_objective
from contract.spec.expanded import Expanded
from store import changes, service
from store.lifecycle import tags
from store.lifecycle.new_runs import insert_runs
from store.lifecycle.new_steps import create_steps
from store.metrics.objectives import column_of
from store.notify.rules import add_spec_rules
from store.run_table.spec_fields import add_experiment_fields
from store.search import searches
from store.tables.experiments import Experiment


def create(
    db: Session,
    new: Expanded,
    *,
    key: str | None = None,
    owner: str = "",
    origin_id: int | None = None,
    force: bool = False,
    carried_out: Collection[str] = (),
) -> tuple[int, list[int]]:
    """Store an experiment and one queued run per point; return their ids. A `key` can be used once.

    A search has no runs yet: the scheduler starts its trials. `owner` counts where the spec names none. `force`: no run
    takes a finished run's result; `carried_out`: no run of the steps with these names does.
    """
    spec = new.spec
    experiment = Experiment(
        id=service.new_ids(db, "experiments", 1)[0],
        name=spec.name,
        description=spec.description,
        spec=spec.model_dump(mode="json"),
        objective=column_of(stored_objective(spec)),
        max_parallel=spec.max_parallel,
        pack=spec.pack,
        key=key,
        notes=spec.notes,
        owner=owner if spec.owner is None else spec.owner,
        project=spec.project,
        origin_id=origin_id,
        table_base=new.example_run() if spec.is_workflow else None,
    )
    db.add(experiment)
    db.flush()
    changes.record_experiment(db, experiment.id)
    add_experiment_fields(db, experiment)
    tags.store_experiment_tags(db, experiment.id, present=(), wanted=spec.tags)
    add_spec_rules(db, experiment.id, spec.notify)
    if spec.search is not None:
        searches.create(db, experiment.id, spec.search, new.search_base())
        return experiment.id, []
    if spec.is_workflow:
        forced = [step.name for step in spec.steps] if force else carried_out
        return experiment.id, create_steps(db, experiment.id, new, forced=forced)
    return experiment.id, insert_runs(db, experiment.id, new.points, first=0, force=force)
