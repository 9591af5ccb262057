"""The best values of programs' metrics, for lists of runs and of experiments: `best(NAME)` of the table of runs."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from bigbatch.client import Client
from bigbatch.errors import ApiError
from bigbatch.terminal.run_tables import BestColumn
from contract.api.responses import ExperimentView, RunView
from contract.main_metric import main_metric
from contract.metric_direction import is_better_when_higher
from contract.metric_names import HELDOUT_ACCURACY

MAX_FIGURES = 30  # of a request for groups


class Best(NamedTuple):
    """A metric and its best value."""

    name: str
    value: float


def best_of(name: str) -> str:
    """Return a metric's best value as the table of runs names it."""
    return f"best(`{name}`)"


def values_of_runs(client: Client, experiment_id: int, column: str) -> dict[int, float]:
    """Return the numbers of a column of the table, such as `best(loss)`, by the ids of an experiment's runs."""
    rows = client.table(columns=[column], experiment_id=experiment_id)
    return {row.id: float(row.cells[0]) for row in rows if isinstance(row.cells[0], int | float)}


def best_column(client: Client, experiment_id: int, runs: Sequence[RunView]) -> BestColumn | None:
    """Return the best values of the main metric of programs; None without any, and of the engine's runs."""
    name = main_metric(dict.fromkeys(metric for run in runs for metric in run.latest))
    if name is None or name == HELDOUT_ACCURACY or "`" in name:
        return None
    values = values_of_runs(client, experiment_id, best_of(name))
    return BestColumn(name, values) if values else None


def best_of_experiments(client: Client, found: Sequence[ExperimentView]) -> dict[int, Best]:
    """Return the best value of the main metric of each experiment of programs, by the experiment's id."""
    mains = {one.id: main_metric(one.series) for one in found if one.best_accuracy is None}
    names = {number: name for number, name in mains.items() if name is not None and "`" not in name}
    asked = list(dict.fromkeys(names.values()))[:MAX_FIGURES]
    if not asked:
        return {}
    where = f"experiment in ({', '.join(map(str, names))})"
    best: dict[int, Best] = {}
    with suppress(ApiError):  # retention may have removed the figures meanwhile: the list is worth more than its column
        answer = client.groups(where, by=["experiment"], figures=[best_of(name) for name in asked], limit=len(names))
        for group in answer.groups:
            number = int(str(group.values[0]))
            figures = dict(zip(asked, group.figures, strict=True))
            if figure := figures.get(names[number]):
                value = figure.most if is_better_when_higher(names[number]) else figure.least
                best[number] = Best(names[number], value)
    return best
