"""The documents by which experiments and runs are submitted again, as text.

A browser would change values on the way: JavaScript has no 1.0 beside 1, and no integers beyond 2^53.
"""

from typing import Any

from fastapi import APIRouter

from api.database import Reading
from api.errors import Conflict
from api.http.statuses import ITEM, problems
from api.parameters import ExperimentId, RunId
from api.render import spec_of
from api.rows import found_experiment, found_run
from contract.api.lifecycle import SpecText
from contract.spec.recorded.stored_run import is_recorded, read_stored_run
from contract.yaml_writer import write_yaml
from store.lifecycle import tags

MAX_NAME = 200

router = APIRouter()


@router.get("/experiments/{experiment_id:id}/document", tags=["experiments"], responses=ITEM | problems(409))
def get_experiment_document(experiment_id: ExperimentId, db: Reading) -> SpecText:
    """Return the experiment as a document for POST /experiments: its spec, with the labels that it has now."""
    experiment = found_experiment(db, experiment_id)
    _refuse_recorded(experiment.spec.get("base"), f"the runs of experiment {experiment_id} were")
    labels = {
        "description": experiment.description,
        "owner": experiment.owner,
        "project": experiment.project,
        "tags": tags.of_experiments(db, [experiment_id]).get(experiment_id, []),
        "notes": experiment.notes,
    }
    spec = spec_of(experiment).model_dump(mode="json")
    others = {field: value for field, value in spec.items() if field not in {"name", *labels}}
    written = {field: list(value) if field == "tags" else value for field, value in labels.items() if value}
    return SpecText(text=write_yaml({"name": experiment.name, **written, **others}))


@router.get("/runs/{run_id:id}/document", tags=["runs"], responses=ITEM | problems(409))
def get_run_document(run_id: RunId, db: Reading) -> SpecText:
    """Return the run as a document for POST /experiments: an experiment of this run alone."""
    run = found_run(db, run_id)
    _refuse_recorded(run.spec, f"run {run_id} was")
    end = f", run {run_id}"
    name = found_experiment(db, run.experiment_id).name[: MAX_NAME - len(end)] + end
    return SpecText(text=write_yaml({"name": name, "base": read_stored_run(run.spec).model_dump(mode="json")}))


def _refuse_recorded(spec: dict[str, Any] | None, what: str) -> None:
    if spec is not None and is_recorded(spec):
        raise Conflict(f"{what} carried out elsewhere: no document starts such runs")
