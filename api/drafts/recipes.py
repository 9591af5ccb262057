"""GET /recipes: the specs of the folder `recipes`, and how long each took here. GET /schema: the fields of a spec."""

from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from api.database import Reading
from api.http.statuses import LIST, UNCHANGED
from contract.api.drafts import LastTime, Recipe
from contract.lifecycle.state import State
from contract.spec.expanded import read_experiment
from contract.spec.experiment import ExperimentSpec
from contract.yaml_reader import read_document
from store.run_times import attempts, busy_seconds
from store.tables.experiments import Experiment
from store.tables.runs import Run

router = APIRouter(tags=["drafts"])
RECIPES = Path(__file__).parents[2] / "recipes"  # not part of an installed package: then there are none


@router.get("/recipes", responses=LIST)
def list_recipes(db: Reading) -> list[Recipe]:
    """Return the recipes: first those of this machine, then those of clusters, each by name."""
    known = read_recipes(RECIPES)
    times = _last_times(db, [recipe.title for recipe in known])
    return [recipe.model_copy(update={"last": times.get(recipe.title)}) for recipe in known]


@router.get("/schema", responses=UNCHANGED)
def get_schema() -> dict[str, Any]:
    """Return the JSON schema of an experiment."""
    return _schema()


@cache
def read_recipes(folder: Path) -> list[Recipe]:
    """Return the recipes of a folder, without those of its subfolders, which need files beside the spec."""
    recipes = [_read(path) for path in sorted(folder.glob("*.yaml"))]
    return sorted(recipes, key=lambda recipe: ("slurm" in recipe.clusters, recipe.name != "first-run", recipe.name))


def _read(path: Path) -> Recipe:
    text = path.read_text()
    experiment = read_experiment(read_document(text))
    runs = [run.resources for _, run in experiment.points]
    return Recipe(
        name=path.stem,
        title=experiment.spec.name,
        description=experiment.spec.description,
        clusters=sorted({resources.kind for resources in runs}),
        runs=len(runs),
        ranks=max(resources.world for resources in runs),
        text=text,
        last=None,
    )


@cache
def _schema() -> dict[str, Any]:
    return ExperimentSpec.model_json_schema()


def _last_times(db: Session, titles: list[str]) -> dict[str, LastTime]:
    """Return how long the newest experiment of each title took, if all its runs are done."""
    newest = select(func.max(Experiment.id)).where(Experiment.name.in_(titles)).group_by(Experiment.name)
    ends = (
        select(Experiment.name, Experiment.id)
        .join(Run, Run.experiment_id == Experiment.id)
        .where(Experiment.id.in_(newest), Run.deleted_at.is_(None))
        .group_by(Experiment.name, Experiment.id)
        .having(func.sum(case((Run.state == State.DONE, 0), else_=1)) == 0)
    )
    ids = {row.id: row.name for row in db.execute(ends)}
    found = {}
    for id_, several in attempts(db, Run.experiment_id, Run.experiment_id.in_(ids), Run.deleted_at.is_(None)).items():
        if seconds := busy_seconds(several):
            found[ids[id_]] = LastTime(experiment_id=id_, seconds=seconds)
    return found
