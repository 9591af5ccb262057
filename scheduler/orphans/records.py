"""Records of experiments beside the run folders, by which a database that was restored gets younger ones back."""

import logging
from collections.abc import Sequence

from sqlalchemy import select

from contract.folder.service_records import ExperimentRecord, RecordedMember, write_experiment
from scheduler.context import Context
from store import service
from store.session import snapshot
from store.tables.experiments import Experiment
from store.tables.runs import Run

log = logging.getLogger(__name__)


def record_experiments(context: Context, submitted: Sequence[Run]) -> None:
    """Record the experiments of runs that are submitted, where the records do not have these runs yet."""
    recorded = context.memory.recorded_runs
    newest: dict[int, int] = {}
    for run in submitted:
        newest[run.experiment_id] = max(newest.get(run.experiment_id, 0), run.id)
    for experiment_id, run_id in newest.items():
        if recorded.get(experiment_id, 0) < run_id:
            try:
                recorded[experiment_id] = _record(context, experiment_id)
            except OSError as error:  # it is for a restore, and no reason to hold up a run
                log.warning("experiment %d could not be recorded beside its run folders: %s", experiment_id, error)


def _record(context: Context, experiment_id: int) -> int:
    """Write the record of an experiment; return the highest id of its runs."""
    with snapshot(context.engine) as db:
        identity, stored = service.identity(db), db.get_one(Experiment, experiment_id)
        columns = (Run.id, Run.key, Run.number, Run.values)
        rows = db.execute(select(*columns).where(Run.experiment_id == experiment_id).order_by(Run.id)).all()
    names = ExperimentRecord.model_fields.keys() - {"runs"}
    members = [RecordedMember(id=row[0], key=row[1], number=row[2], values=row[3]) for row in rows]
    record = ExperimentRecord(**{name: getattr(stored, name) for name in names}, runs=members)
    write_experiment(context.runs_folder, identity, record)
    return max(member.id for member in members)
