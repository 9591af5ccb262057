"""The typed client of the HTTP API. Its methods return the models of contract.api."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import httpx

from bigbatch import frame
from bigbatch.artifact_client import ArtifactClient
from bigbatch.connection import Connection, Parameters
from bigbatch.experiment import Experiment, PointsOfRun
from bigbatch.export_client import ExportClient
from bigbatch.lifecycle_client import LifecycleClient
from bigbatch.notify_client import NotifyClient
from bigbatch.price_client import PriceClient
from bigbatch.recording_client import RecordingClient
from bigbatch.schedule_client import ScheduleClient
from bigbatch.snapshot.capture import MAX_MB
from bigbatch.snapshot.take import SnapshotRef, take_snapshot
from bigbatch.sweeps.search_client import SearchClient
from bigbatch.table_client import TableClient
from contract.api.curves import BucketedCurve, Column, ExperimentCurves, LogPart, RunBucketedCurve, RunCurves, RunPoints
from contract.api.list_sort import ExperimentSort
from contract.api.node_failures import NodeFailureReport
from contract.api.reproduction import RunDifferences
from contract.api.responses import ExperimentView, FailedRun, Page, RunDetail, RunView, Stopped
from contract.api.service import ClusterView, Health, Readiness
from contract.api.snapshots import Received, SnapshotState
from contract.api.workflow_steps import StepGraph
from contract.diagnosis.stacks import AttemptStacks, RankStacks
from contract.folder.environment_record import EnvironmentRecord
from contract.lifecycle.state import State
from study.spread import group_runs

T = TypeVar("T")
PAGE = 200  # items per request


class Client(
    LifecycleClient,
    TableClient,
    ExportClient,
    ArtifactClient,
    RecordingClient,
    SearchClient,
    PriceClient,
    NotifyClient,
    ScheduleClient,
):
    """The client of the service at `url` (default: BIGBATCH_URL, else that of the home BIGBATCH_HOME).

    `token` defaults to BIGBATCH_TOKEN, else to the token of the service that this user runs at `url` on this machine.
    `pages_url` is the address of the dashboard in links (default: BIGBATCH_PUBLIC_URL without `url`, if BIGBATCH_URL is
    this machine's; else the service's).
    Every method raises ApiError for an error response, and Unreachable if the service does not answer.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        pages_url: str | None = None,
    ) -> None:
        self._connection = Connection(url, token, transport=transport, pages_url=pages_url)

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._connection.url

    @property
    def pages_url(self) -> str:
        """The address of the dashboard."""
        return self._connection.pages_url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def experiment_url(self, experiment_id: int) -> str:
        """Return the address of an experiment's page on the dashboard."""
        return f"{self.pages_url}/experiments/{experiment_id}"

    def sign_in_url(self, path: str = "/") -> str:
        """Return a link that signs a browser in once, within 15 minutes, and opens the page at `path`."""
        return self._connection.sign_in_url(path)

    def experiments(
        self,
        *,
        before: int | None = None,
        limit: int | None = None,
        state: State | None = None,
        sort: ExperimentSort = ExperimentSort.NEWEST,
        where: Mapping[str, str] | None = None,
    ) -> Iterator[ExperimentView]:
        """Yield experiments in the order `sort`, at most `limit`: those behind the experiment `before`, in `state`.

        `where` filters by labels: `q` (a text in any label), `tag`, `owner`, `project`, `archived` ("true").
        """
        ask: Parameters = {"limit": min(limit or PAGE, PAGE), "sort": sort, **(where or {})}
        if state is not None:
            ask = {**ask, "state": state}
        return islice(self._pages("/experiments", Page[ExperimentView], ask, before=before), limit)

    def experiment(self, experiment_id: int) -> Experiment:
        """Return one experiment; its method `frame` gives a pandas DataFrame."""
        return self._connection.get(f"/experiments/{experiment_id}", Experiment).read_by(self)

    def steps(self, experiment_id: int) -> StepGraph:
        """Return the steps of a workflow as a graph; an experiment without steps has none."""
        return self._connection.get(f"/experiments/{experiment_id}/steps", StepGraph)

    def runs(
        self,
        experiment_id: int,
        *,
        after: int = -1,
        state: State | None = None,
        step: str | None = None,
        metrics: Sequence[str] = (),
    ) -> Iterator[RunView]:
        """Yield an experiment's runs with numbers above `after`, in grid order, in `state` and of `step`.

        `latest` of each has `metrics`, at most 50; without names the engine's own metrics and the first 200 others.
        """
        filters = {"metric": list(metrics) or None, "state": state, "step": step}
        wanted: Parameters = {name: value for name, value in filters.items() if value is not None}
        more: int | None = after
        while more is not None:
            place: Parameters = {**wanted, "limit": PAGE, "after": more}
            page = self._connection.get(f"/experiments/{experiment_id}/runs", Page[RunView], ask=place)
            yield from page.items
            more = page.next

    def rows(self, experiment_id: int, *, over: str | None = None) -> list[dict[str, Any]]:
        """Return a row per run, with its values, and of its metrics the newest (`latest.`) and the best (`best.`).

        `over` is a field that the grid sets, usually `seed`: a row then stands for the runs that differ in this field
        alone, with mean, deviation, least and most of each figure over the runs that are done.
        """
        found = list(self.runs(experiment_id))
        if over is not None:
            return frame.rows_of_groups(group_runs(found, over))
        return frame.rows_of(found, self.best_values(experiment_id, frame.metrics_of(found)))

    def to_frame(self, experiment_id: int, *, over: str | None = None) -> Any:
        """Return the same rows as a pandas DataFrame."""
        rows = self.rows(experiment_id, over=over)
        return frame.frame_of(rows, frame.GROUP_COLUMNS) if over else frame.frame_of(rows, frame.RUN_COLUMNS, "id")

    def curves(self, experiment_id: int, names: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Return a row per point of the named series, or of all series: run, values of the run, series, step, value."""
        return frame.rows_of_curves((run, self.points(run.id, names).series) for run in self.runs(experiment_id))

    def curves_to_frame(self, experiment_id: int, names: Sequence[str] = ()) -> Any:
        """Return the same rows as a pandas DataFrame."""
        return frame.frame_of(self.curves(experiment_id, names), frame.CURVE_COLUMNS)

    def failures(self, experiment_id: int) -> Iterator[FailedRun]:
        """Yield the experiment's failed runs, each with its first failure."""
        more: int | None = -1
        while more is not None:
            page = self._connection.get(f"/experiments/{experiment_id}/failures", Page[FailedRun], ask={"after": more})
            yield from page.items
            more = page.next

    def run(self, run_id: int) -> RunDetail:
        """Return one run."""
        return self._connection.get(f"/runs/{run_id}", RunDetail)

    def points(self, run_id: int, names: Sequence[str] = (), *, after: int = -1) -> PointsOfRun:
        """Return every point after step `after` of the named series, or of all series."""
        series: dict[str, Column] = {}
        while True:
            ask: Parameters = {"name": list(names), "after": after}
            part = self._connection.get(f"/runs/{run_id}/points", RunPoints, ask=ask)
            for name, column in part.series.items():
                whole = series.setdefault(name, Column(steps=[], values=[]))
                whole.steps.extend(column.steps)
                whole.values.extend(column.values)
                after = max([after, *column.steps[-1:]])
            if not part.more:
                return PointsOfRun(series=series, more=False)

    def run_curves(
        self, run_id: int, names: Sequence[str] = (), *, first: int = 0, last: int | None = None, buckets: int = 1000
    ) -> dict[str, BucketedCurve]:
        """Return series of a run from step `first` to `last` in about so many buckets, each with least and greatest."""
        ask: Parameters = {"name": list(names), **_range(first, last, buckets)}
        return self._connection.get(f"/runs/{run_id}/curves", RunCurves, ask=ask).series

    def experiment_curves(
        self,
        experiment_id: int,
        name: str,
        run_ids: Sequence[int] = (),
        *,
        first: int = 0,
        last: int | None = None,
        buckets: int = 1000,
    ) -> list[RunBucketedCurve]:
        """Return one series of an experiment's runs (without ids, of its first 200) in buckets."""
        ask: Parameters = {"name": name, "run": [str(run_id) for run_id in run_ids], **_range(first, last, buckets)}
        return self._connection.get(f"/experiments/{experiment_id}/curves", ExperimentCurves, ask=ask).curves

    def find_runs(self, where: Mapping[str, str], limit: int | None = None) -> Iterator[RunView]:
        """Yield runs of all experiments, newest first, at most `limit`.

        `where` filters: `q` (a text in notes, tags, reason or spec), `tag`, `state`, `archived` ("true").
        """
        return islice(self._pages("/runs", Page[RunView], {"limit": min(limit or PAGE, PAGE), **where}), limit)

    def stacks(self, run_id: int) -> Iterator[RankStacks]:
        """Yield the newest stacks of each rank of a program's latest attempt that has any."""
        after: int | None = -1
        while after is not None:
            part = self._connection.get(f"/runs/{run_id}/stacks", AttemptStacks, ask={"after": after})
            yield from part.ranks
            after = part.next

    def log(self, run_id: int, offset: int = 0) -> LogPart:
        """Return a part of the run's log from byte `offset`; a negative offset counts from the end."""
        return self._connection.get(f"/runs/{run_id}/log", LogPart, ask={"offset": offset})

    def stop_experiment(self, experiment_id: int) -> Stopped:
        """Request the stop of all runs of an experiment."""
        return self._connection.post(f"/experiments/{experiment_id}/stop", Stopped)

    def stop_run(self, run_id: int) -> Stopped:
        """Request the stop of one run."""
        return self._connection.post(f"/runs/{run_id}/stop", Stopped)

    def differences(self, run_id: int, other: int) -> RunDifferences:
        """Return how two runs differ in spec, code and environment."""
        return self._connection.get(f"/runs/{run_id}/differences", RunDifferences, ask={"other": other})

    def environment(self, run_id: int, attempt: int | None = None) -> EnvironmentRecord | None:
        """Return the environment of an attempt of a program, by default of the latest; None without a record."""
        ask: Parameters = {} if attempt is None else {"attempt": attempt}
        answer = cast("type[EnvironmentRecord | None]", EnvironmentRecord | None)
        return self._connection.get(f"/runs/{run_id}/environment", answer, ask=ask)

    def snapshot(self, folder: Path | str, *, max_mb: float = MAX_MB) -> SnapshotRef:
        """Store the tree of the repository that contains `folder`, or of a folder without git, as it is now.

        Its `hash` and `subfolder` are `code` and `subfolder` of a program's spec. Raise SnapshotError.
        """
        return take_snapshot(folder, self, max_mb=max_mb)

    def store_snapshot(self, request: bytes) -> SnapshotState:
        """Store the tree of a SnapshotRequest, as JSON compressed by gzip, or learn which contents are missing."""
        return self._connection.post_safely("/snapshots", SnapshotState, content=request, kind="application/gzip")

    def upload_blobs(self, pack: bytes) -> Received:
        """Upload contents of files, in the format of contract.snapshot.pack."""
        kind = "application/octet-stream"
        return self._connection.post_safely("/snapshots/blobs", Received, content=pack, kind=kind)

    def clusters(self) -> list[ClusterView]:
        """Return the newest report of each cluster."""
        return self._connection.get("/clusters", list[ClusterView])

    def node_failures(self, days: int = 30) -> NodeFailureReport:
        """Return the nodes on which attempts failed in the last days, those with the most node failures first."""
        return self._connection.get("/clusters/node-failures", NodeFailureReport, ask={"days": days})

    def health(self) -> Health:
        """Return whether the API process answers."""
        return self._connection.get("/health", Health)

    def ready(self) -> Readiness:
        """Return whether the service is ready; sent without retries, because "not ready" (503) is a valid answer."""
        response = self._connection.send("GET", "/ready")
        if response.status_code == 503 and b'"scheduler"' in response.content:
            return Readiness.model_validate_json(response.content)
        return self._connection.read(response, Readiness)

    def _pages(self, path: str, page_type: type[Page[T]], ask: Parameters, *, before: int | None = None) -> Iterator[T]:
        while True:
            place: Parameters = {} if before is None else {"before": before}
            page = self._connection.get(path, page_type, ask={**ask, **place})
            yield from page.items
            if page.next is None:
                return
            before = page.next


def _range(first: int, last: int | None, buckets: int) -> Parameters:
    return {"from": first, "buckets": buckets, **({} if last is None else {"to": last})}
