"""Initial weights: the runs that points name, resolved to their newest checkpoints when the points become runs."""

from pathlib import Path

from sqlalchemy import Engine

from contract.folder.run_folder import RunFolder
from contract.spec.artifacts.initial_weights import WeightSource, resolve_weights, weight_sources
from contract.spec.expanded import Expanded
from contract.spec.grid.step_grid import MAX_ISSUES, Points
from contract.validation import ValidationIssue
from orders.refused import Refused
from store.holders import holders_of
from store.session import snapshot


def with_initial_weights(engine: Engine, experiment: Expanded, runs_folder: Path) -> Expanded | Refused:
    """Return the experiment with the folder and the checkpoint of all initial weights.

    The documents of its points get them; the experiment's own document stays as it was submitted.
    """
    points, found = find_weights(engine, experiment.points, runs_folder)
    issues: dict[str, ValidationIssue] = {}
    for number, issue in found:
        issues[issue.message] = issue.model_copy(update={"path": experiment.place(issue.path, number)})
    if issues:
        return Refused("the experiment is not valid", list(issues.values())[:MAX_ISSUES])
    return experiment.with_points(points)


def find_weights(engine: Engine, points: Points, runs_folder: Path) -> tuple[Points, list[tuple[int, ValidationIssue]]]:
    """Return the points with the folder and the checkpoint of their weights, and the issues with numbers of points.

    It reads run folders, so the caller holds no transaction; raise OSError if one gives no answer.
    """
    if not (wanted := weight_sources(points)):
        return points, []
    with snapshot(engine) as db:
        holders = holders_of(db, wanted)
    sources = {
        id_: WeightSource.read(RunFolder.of(runs_folder, one.id, one.key).path, one.spec)
        for id_, one in holders.items()
    }
    return resolve_weights(points, sources)
