"""The typed client: what the service offers, answered with the models of contract.api.responses."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Self

import httpx

from bigbatch.connection import Connection, Parameters
from contract.api.responses import (
    ClusterView,
    Column,
    Created,
    ExperimentDetail,
    ExperimentView,
    FailedRun,
    Health,
    LogPart,
    Page,
    PriceList,
    Readiness,
    RunDetail,
    RunPoints,
    RunView,
    Stopped,
)
from contract.spec.experiment import ExperimentSpec

PAGE = 200  # how many items one request asks for


class Client:
    """A service at `url` (else BIGBATCH_URL, else this machine), with `token` (else BIGBATCH_TOKEN).

    Every method raises ApiError when the service refuses and Unreachable when it does not answer.
    """

    def __init__(
        self, url: str | None = None, token: str | None = None, *, transport: httpx.BaseTransport | None = None
    ) -> None:
        self._wire = Connection(url, token, transport=transport)

    @property
    def url(self) -> str:
        return self._wire.url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wire.close()

    def page_of(self, experiment_id: int) -> str:
        """The dashboard's address of an experiment."""
        return f"{self.url}/experiments/{experiment_id}"

    def create(self, spec: ExperimentSpec | dict[str, Any] | str) -> Created:
        """Store an experiment (a str is YAML or JSON text) and queue its runs."""
        if isinstance(spec, str):
            return self._wire.post_once("/experiments", Created, content=spec.encode(), kind="application/yaml")
        text = spec.model_dump_json() if isinstance(spec, ExperimentSpec) else json.dumps(spec)
        return self._wire.post_once("/experiments", Created, content=text.encode())

    def experiments(self, *, before: int | None = None, limit: int | None = None) -> Iterator[ExperimentView]:
        """Experiments, newest first, from below the id `before`; at most `limit`, page after page as needed."""
        return islice(self._experiments(before, min(limit or PAGE, PAGE)), limit)

    def experiment(self, experiment_id: int) -> ExperimentDetail:
        return self._wire.get(f"/experiments/{experiment_id}", ExperimentDetail)

    def runs(self, experiment_id: int, *, after: int = -1) -> Iterator[RunView]:
        """An experiment's runs in the order of its grid, those beyond number `after`, page after page."""
        more: int | None = after
        while more is not None:
            ask: Parameters = {"after": more, "limit": PAGE}
            page = self._wire.get(f"/experiments/{experiment_id}/runs", Page[RunView], ask=ask)
            yield from page.items
            more = page.next

    def failures(self, experiment_id: int) -> Iterator[FailedRun]:
        """The experiment's runs that failed, each with its first failure, page after page."""
        more: int | None = -1
        while more is not None:
            page = self._wire.get(f"/experiments/{experiment_id}/failures", Page[FailedRun], ask={"after": more})
            yield from page.items
            more = page.next

    def run(self, run_id: int) -> RunDetail:
        return self._wire.get(f"/runs/{run_id}", RunDetail)

    def points(self, run_id: int, names: Sequence[str] = (), *, after: int = -1) -> RunPoints:
        """Every point beyond step `after` of the named series, or of all, however many requests that takes."""
        series: dict[str, Column] = {}
        while True:
            ask: Parameters = {"name": list(names), "after": after}
            part = self._wire.get(f"/runs/{run_id}/points", RunPoints, ask=ask)
            for name, column in part.series.items():
                whole = series.setdefault(name, Column(steps=[], values=[]))
                whole.steps.extend(column.steps)
                whole.values.extend(column.values)
                after = max([after, *column.steps[-1:]])
            if not part.more:
                return RunPoints(series=series, more=False)

    def log(self, run_id: int, offset: int = 0) -> LogPart:
        """A part of what the run printed, from byte `offset`; below 0, that many bytes before the end."""
        return self._wire.get(f"/runs/{run_id}/log", LogPart, ask={"offset": offset})

    def stop_experiment(self, experiment_id: int) -> Stopped:
        return self._wire.post(f"/experiments/{experiment_id}/stop", Stopped)

    def stop_run(self, run_id: int) -> Stopped:
        return self._wire.post(f"/runs/{run_id}/stop", Stopped)

    def prices(
        self, size_bytes: float, *, hosts: int, ranks_per_host: int, network: Mapping[str, float] | None = None
    ) -> PriceList:
        """What every collective costs; `network` has what is known of `rate`, `inside_rate`, `latency_s` and so on."""
        ask: Parameters = {"bytes": size_bytes, "hosts": hosts, "ranks_per_host": ranks_per_host, **(network or {})}
        return self._wire.get("/collectives/price", PriceList, ask=ask)

    def clusters(self) -> list[ClusterView]:
        return self._wire.get("/clusters", list[ClusterView])

    def health(self) -> Health:
        return self._wire.get("/health", Health)

    def ready(self) -> Readiness:
        """Whether the service can do its work; asked once, for "not yet" is an answer too."""
        response = self._wire.send("GET", "/ready")
        if response.status_code == 503 and b'"scheduler"' in response.content:
            return Readiness.model_validate_json(response.content)
        return self._wire.read(response, Readiness)

    def _experiments(self, before: int | None, limit: int) -> Iterator[ExperimentView]:
        while True:
            ask: Parameters = {"limit": limit} if before is None else {"limit": limit, "before": before}
            page = self._wire.get("/experiments", Page[ExperimentView], ask=ask)
            yield from page.items
            if page.next is None:
                return
            before = page.next
