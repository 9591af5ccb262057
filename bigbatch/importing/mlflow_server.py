"""The REST API of an MLflow tracking server, version 2.0, page by page."""

import os
import time
from collections.abc import Iterator
from typing import Any

import httpx

from bigbatch.certificates import tls_hint, trusted_certificates
from bigbatch.errors import BigbatchError, Unreachable
from bigbatch.importing.mlflow import MlflowExperiment, MlflowRun, Point, number_of
from contract.shown_address import shown_address

PAGE, POINTS = 1_000, 25_000  # items of an answer
RETRY_DELAYS_S = (0.5, 2.0, 5.0)


class MlflowServer:
    """The runs of a server; MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and _PASSWORD, sign in."""

    def __init__(self, url: str, *, transport: httpx.BaseTransport | None = None) -> None:
        token, user = os.environ.get("MLFLOW_TRACKING_TOKEN"), os.environ.get("MLFLOW_TRACKING_USERNAME")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        auth = (user, os.environ.get("MLFLOW_TRACKING_PASSWORD", "")) if user and not token else None
        self._url, self._shown = url.rstrip("/"), shown_address(url.rstrip("/"))
        self._http = httpx.Client(
            headers=headers, auth=auth, timeout=60, transport=transport, verify=trusted_certificates()
        )

    def experiments(self) -> Iterator[MlflowExperiment]:
        """Yield the experiments that are not deleted."""
        asked = {"max_results": PAGE, "view_type": "ACTIVE_ONLY"}
        for one in self._pages("POST", "experiments/search", asked, "experiments"):
            yield MlflowExperiment(str(one["experiment_id"]), str(one["name"]))

    def runs(self, experiment: MlflowExperiment) -> Iterator[MlflowRun]:
        """Yield the runs of an experiment that are not deleted, the oldest first."""
        asked = {
            "experiment_ids": [experiment.id],
            "max_results": PAGE,
            "run_view_type": "ACTIVE_ONLY",
            "order_by": ["attributes.start_time ASC"],
        }
        for one in self._pages("POST", "runs/search", asked, "runs"):
            info, data = one["info"], one.get("data", {})
            yield MlflowRun(
                str(info.get("run_id") or info["run_uuid"]),
                str(info.get("run_name", "")),
                _milliseconds(info.get("start_time")),
                _milliseconds(info.get("end_time")),
                {item["key"]: item.get("value", "") for item in data.get("params", [])},
                {item["key"]: item.get("value", "") for item in data.get("tags", [])},
                [item["key"] for item in data.get("metrics", [])],
            )

    def points(self, run: MlflowRun, metric: str) -> Iterator[Point]:
        """Yield the points of a metric."""
        asked = {"run_id": run.id, "metric_key": metric, "max_results": POINTS}
        for one in self._pages("GET", "metrics/get-history", asked, "metrics"):
            yield int(one.get("step", 0)), number_of(one.get("value")), int(one["timestamp"]) / 1000

    def _pages(self, method: str, path: str, asked: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
        token = ""
        while True:
            answer = self.ask(method, path, asked | ({"page_token": token} if token else {}))
            yield from answer.get(name, [])
            token = answer.get("next_page_token", "")
            if not token:
                return

    def ask(self, method: str, path: str, asked: dict[str, Any], *, repeats: bool = True) -> dict[str, Any]:
        """Send a request and return its answer; raise Unreachable, or BigbatchError for an error.

        `repeats`: send it again after a failure; not for a request that makes something each time.
        """
        address = f"{self._url}/api/2.0/mlflow/{path}"
        body: dict[str, Any] = {"json": asked} if method == "POST" else {"params": asked}
        for wait_s in (*(RETRY_DELAYS_S if repeats else ()), None):
            try:
                response = self._http.request(method, address, **body)
            except httpx.TransportError as error:
                if wait_s is None:
                    hint = f": {told}" if (told := tls_hint(error)) else ""
                    raise Unreachable(f"no MLflow answers at {self._shown} ({error or 'timed out'}){hint}") from error
            else:
                if response.status_code < 500 or wait_s is None:
                    return self._read(response)
            time.sleep(wait_s)
        raise AssertionError("the last try returns or raises")

    def _read(self, response: httpx.Response) -> dict[str, Any]:
        if response.is_error:
            hint = "; set MLFLOW_TRACKING_TOKEN, or _USERNAME and _PASSWORD" if response.status_code == 401 else ""
            raise BigbatchError(f"MLflow at {self._shown} answered {response.status_code}: {response.text[:300]}{hint}")
        try:
            answer: dict[str, Any] = response.json()
        except ValueError as error:
            raise BigbatchError(
                f"the answer of {self._shown} is not that of an MLflow server: check the address"
            ) from error
        return answer


def _milliseconds(value: Any) -> int | None:
    return int(value) if value else None
