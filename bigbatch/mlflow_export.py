"""Runs of an experiment, sent to an MLflow tracking server over its REST API, version 2.0.

MLflow finds a run again by its tag `bigbatch.run`, and knows its parameters and the last step of each metric: a
repeated call sends what is new, and a call that was cut is made again. Limits of a request: MLflow's documentation of
`runs/log-batch`.
"""

import json
import re
import time
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from math import isinf, isnan
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from bigbatch.client import Client
from bigbatch.importing.mlflow_server import MlflowServer
from contract.api.curves import Column
from contract.api.responses import RunDetail
from contract.lifecycle.state import ENDED, State
from contract.metric_names import TRAINED_S

MAX_METRICS, MAX_PARAMETERS = 1_000, 100  # of a request
MAX_TEXT = 500  # characters of a parameter that every version of MLflow takes
SOURCE, EXPERIMENT = "bigbatch.run", "bigbatch.experiment"
NOT_ALLOWED = re.compile(r"[^\w\-. /]", re.ASCII)  # in names of metrics, parameters and tags
SLASHES = re.compile(r"/+")
STATUS = {State.DONE: "FINISHED", State.FAILED: "FAILED", State.CANCELLED: "KILLED", State.RUNNING: "RUNNING"}
Json = dict[str, Any]


class Sent(NamedTuple):
    """What a call sent."""

    runs: int = 0
    new_runs: int = 0
    points: int = 0


class MlflowRun(NamedTuple):
    """A run as the server has it: its id there, the last step of each metric, and the names of its parameters."""

    id: str
    steps: Mapping[str, int] = {}
    parameters: Collection[str] = ()


def send_experiment(client: Client, server: MlflowServer, experiment_id: int, name: str = "") -> Sent:
    """Send the runs of an experiment to the MLflow experiment `name` (default: its own name), and return the counts."""
    detail = client.experiment(experiment_id)
    target = _experiment(server, name or detail.name)
    sent = Sent()
    for view in client.runs(experiment_id):
        run = client.run(view.id)
        source = PurePosixPath(run.folder).name  # ids alone are those of other services too
        known = _find(server, target, source)
        there = known or _create(server, target, run, source)
        _send_parameters(server, run, there)
        points = _send_points(client, server, run, there)
        _end(server, run, there)
        sent = Sent(sent.runs + 1, sent.new_runs + (known is None), sent.points + points)
    return sent


def _experiment(server: MlflowServer, name: str) -> str:
    """Return the id of the server's experiment of this name, which is made if there is none."""
    for known in server.experiments():
        if known.name == name:
            return known.id
    return str(server.ask("POST", "experiments/create", {"name": name})["experiment_id"])


def _find(server: MlflowServer, experiment: str, source: str) -> MlflowRun | None:
    asked = {"experiment_ids": [experiment], "filter": f"tags.`{SOURCE}` = '{source}'", "max_results": 1}
    for one in server.ask("POST", "runs/search", asked).get("runs", []):
        data = one.get("data", {})
        steps = {item["key"]: int(item.get("step", 0)) for item in data.get("metrics", [])}
        return MlflowRun(str(one["info"]["run_id"]), steps, {item["key"] for item in data.get("params", [])})
    return None


def _create(server: MlflowServer, experiment: str, run: RunDetail, source: str) -> MlflowRun:
    tags = {**{_name(f"tag.{tag}"): "true" for tag in run.tags}, EXPERIMENT: str(run.experiment_id), SOURCE: source}
    asked: Json = {
        "experiment_id": experiment,
        "run_name": f"run {run.id}",
        "start_time": _milliseconds(run.started_at or run.created_at),
        "tags": [{"key": key, "value": value} for key, value in tags.items()],
    }
    return MlflowRun(str(server.ask("POST", "runs/create", asked, repeats=False)["run"]["info"]["run_id"]))


def _send_parameters(server: MlflowServer, run: RunDetail, there: MlflowRun) -> None:
    """Send the parameters that the server lacks; it refuses another value of one that it has."""
    missing = iter([(key, value) for key, value in parameters_of(run).items() if key not in there.parameters])
    while part := [{"key": key, "value": value} for key, value in islice(missing, MAX_PARAMETERS)]:
        server.ask("POST", "runs/log-batch", {"run_id": there.id, "params": part})


def parameters_of(run: RunDetail) -> dict[str, str]:
    """Return the fields of a run's spec as MLflow's parameters: dotted path to text."""
    found = dict(_leaves("", run.spec.model_dump(mode="json")))
    return {key: found[path][:MAX_TEXT] for path, key in _keys(found).items()}


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, below in value.items():
            yield from _leaves(f"{path}.{name}" if path else str(name), below)
    elif value is not None:
        yield path, value if isinstance(value, str) else json.dumps(value)


def _send_points(client: Client, server: MlflowServer, run: RunDetail, there: MlflowRun) -> int:
    """Send the points of each series after the last step that the server has; return how many there were."""
    series = client.points(run.id).series
    moments = Moments(run.started_at or run.created_at, series.get(TRAINED_S))
    metrics = _new_metrics(series, there.steps, moments)
    count = 0
    while part := list(islice(metrics, MAX_METRICS)):
        server.ask("POST", "runs/log-batch", {"run_id": there.id, "metrics": part})
        count += len(part)
    return count


def _new_metrics(series: Mapping[str, Column], known: Mapping[str, int], moments: "Moments") -> Iterator[Json]:
    keys = _keys(series)
    for name, column in series.items():
        key = keys[name]
        last = known.get(key, -1)
        for step, value in zip(column.steps, column.values, strict=True):
            if step > last:
                yield {"key": key, "value": _number(value), "step": step, "timestamp": moments.at(step)}


class Moments:
    """The moments of a run's steps, from its start and the series of trained seconds."""

    def __init__(self, began: datetime, trained_s: Column | None) -> None:
        self._began = _milliseconds(began)
        known = zip(trained_s.steps, trained_s.values, strict=True) if trained_s else ()
        pairs = [(step, value) for step, value in known if isinstance(value, float)]
        self._steps: Sequence[int] = [step for step, _ in pairs]
        self._seconds: Sequence[float] = [value for _, value in pairs]

    def at(self, step: int) -> int:
        """Return the moment of a step in milliseconds since 1970, or of the last step before it whose time is known."""
        place = bisect_right(self._steps, step)
        return self._began + round(1000 * self._seconds[place - 1]) if place else self._began


def _end(server: MlflowServer, run: RunDetail, there: MlflowRun) -> None:
    asked: Json = {"run_id": there.id, "status": STATUS.get(run.state, "SCHEDULED")}
    if run.state in ENDED:
        asked["end_time"] = _milliseconds(run.ended_at) if run.ended_at else round(1000 * time.time())
    server.ask("POST", "runs/update", asked)


def _keys(names: Iterable[str]) -> dict[str, str]:
    """Return the names that MLflow takes; of names that would become the same one the later ones get a number."""
    found: dict[str, str] = {}
    for name in sorted(names):
        key, number = _name(name), 1
        while key in found.values():
            number += 1
            key = f"{_name(name)}_{number}"
        found[name] = key
    return found


def _name(text: str) -> str:
    """Return a name that is a path without empty parts, of letters, digits, _, -, dots and spaces."""
    parts = SLASHES.sub("/", NOT_ALLOWED.sub("_", text)).strip("/").split("/")
    return "/".join("_" if part in (".", "..") else part for part in parts) or "_"


def _number(value: float | str | None) -> float | str:
    """Return a value as protobuf's JSON has it: what is not finite is a text."""
    number = float("nan") if value is None else float(value)
    if isnan(number):
        return "NaN"
    return ("Infinity" if number > 0 else "-Infinity") if isinf(number) else number


def _milliseconds(moment: datetime) -> int:
    return round(1000 * moment.timestamp())
