"""The client's methods for experiments and runs as a whole: create, retry, repeat, label, wait, delete."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from pydantic import BaseModel

from bigbatch.connection import Connection, Parameters
from bigbatch.document_changes import refuse_void_changes, set_paths
from bigbatch.errors import BigbatchError, Unreachable
from contract.api.labels import ExperimentChange, RunChange, RunLabels
from contract.api.lifecycle import (
    Deleted,
    DeletionPage,
    DeletionView,
    ExtensionRequest,
    PointsAdded,
    PointsRequest,
    Restored,
    RetryRequest,
    RetryResult,
    RunExtended,
    StoredSize,
)
from contract.api.responses import Created, ExperimentDetail, RunDetail
from contract.lifecycle.state import ENDED
from contract.spec.experiment import ExperimentSpec

Kind = Literal["experiments", "runs"]
Retried = Sequence[Literal["failed", "cancelled"]]
BOTH: Retried = ("failed", "cancelled")
POLL_INTERVAL_S = 1.0


class WaitTimeout(BigbatchError):
    """The experiment has not ended in time."""


class LifecycleClient:
    """The methods; `Client` has the connection."""

    _connection: Connection

    def create(
        self,
        spec: ExperimentSpec | dict[str, Any] | str,
        *,
        force: bool = False,
        origin: int | None = None,
        from_step: str | None = None,
    ) -> Created:
        """Create an experiment (a str is YAML or JSON text) and queue its runs.

        `force`: also if the newest report of the cluster contradicts the resources. `origin`: the experiment that the
        new one repeats or varies. `from_step`: carry out this step of the workflow and all that need it, although
        finished runs have equal results.
        """
        document = spec.model_dump(mode="json") if isinstance(spec, ExperimentSpec) else spec
        return self._connection.create(document, force=force, origin=origin, from_step=from_step)

    def retry(self, experiment_id: int, states: Retried = BOTH, *, accept_new_data: bool = False) -> RetryResult:
        """Let the runs of an experiment that ended in one of `states` go on, each as its next attempt.

        `accept_new_data`: also with data that are not those of their checkpoints.
        """
        request = RetryRequest(states=list(states), accept_new_data=accept_new_data)
        return self._connection.change("POST", f"/experiments/{experiment_id}/retry", RetryResult, request)

    def retry_run(self, run_id: int, states: Retried = BOTH, *, accept_new_data: bool = False) -> RetryResult:
        """Let a run that ended in one of `states` go on as its next attempt, from its newest checkpoint.

        `accept_new_data`: also with data that are not those of the checkpoint.
        """
        request = RetryRequest(states=list(states), accept_new_data=accept_new_data)
        return self._connection.change("POST", f"/runs/{run_id}/retry", RetryResult, request)

    def rerun(self, run_id: int, *, force: bool = False) -> Created:
        """Carry a run out again as a new experiment: the same spec, seed and code snapshot, from the first step on."""
        run = self._connection.get(f"/runs/{run_id}", RunDetail)
        origin = self._detail(run.experiment_id)
        document = {
            **_labels(origin),
            "name": f"rerun of run {run_id}: {origin.name}"[:200],
            "description": f"The same spec and code as run {run_id} of experiment {run.experiment_id}.",
            "base": {**run.spec.model_dump(mode="json"), **_without_reuse(run.spec)},
        }
        return self._connection.create(document, force=force, origin=run.experiment_id)

    def rerun_experiment(self, experiment_id: int, *, force: bool = False, from_step: str | None = None) -> Created:
        """Submit an experiment again, with the points that were added to it; return the new one.

        `from_step`: of a workflow, only this step and those that need it are carried out again for certain; earlier
        ones take their results if their runs have `reuse: true`.
        """
        origin = self._detail(experiment_id)
        spec = origin.spec
        if from_step is not None:
            return self._repeat(origin, {}, force=force, from_step=from_step)
        if spec.base is None:
            return self._repeat(origin, {"steps": _steps_without_reuse(spec)}, force=force)
        own = {f"base.{name}": value for name, value in _without_reuse(spec.base).items()}
        return self._repeat(origin, own, force=force, may_be_void=True)

    def clone(
        self, experiment_id: int, changes: Mapping[str, Any], *, force: bool = False, from_step: str | None = None
    ) -> Created:
        """Submit an experiment with changes: dotted path in its document, such as "base.batch", to the new value.

        `from_step`: as for `create`. Raise DocumentRefused for a field of the base that an axis, a variant or the
        search sets: the change would do nothing.
        """
        return self._repeat(self._detail(experiment_id), changes, force=force, from_step=from_step)

    def _repeat(
        self,
        origin: ExperimentDetail,
        changes: Mapping[str, Any],
        *,
        force: bool,
        from_step: str | None = None,
        may_be_void: bool = False,
    ) -> Created:
        before = {**origin.spec.model_dump(mode="json"), **_labels(origin)}
        document = set_paths(before, changes)
        if not may_be_void:
            refuse_void_changes(before, document, changes)
        created = self._connection.create(document, force=force, origin=origin.id, from_step=from_step)
        if origin.added_points:
            added = self.add_points(created.id, points=origin.added_points, force=force)
            return created.model_copy(update={"runs": [*created.runs, *added.runs]})
        return created

    def add_points(
        self,
        experiment_id: int,
        *,
        axes: Mapping[str, Sequence[Any]] | None = None,
        points: Sequence[Mapping[str, Any]] = (),
        force: bool = False,
    ) -> PointsAdded:
        """Add further values of an experiment's axes, or points outside its grid; it does not repeat a point.

        Raise ValueError for values that are one text: its characters would become values.
        """
        for name, values in (axes or {}).items():
            if isinstance(values, str | bytes):
                raise ValueError(f"the values of the axis {name} are the text {values!r}: give a list, as [{values!r}]")
        lists = {path: list(values) for path, values in (axes or {}).items()}
        request = PointsRequest(axes=lists, points=[dict(point) for point in points])
        path = f"/experiments/{experiment_id}/points{'?force=true' if force else ''}"
        return self._connection.change("POST", path, PointsAdded, request)

    def extend_run(self, run_id: int, *, epochs: int) -> RunExtended:
        """Let a run that is done go on until it has taken `epochs` epochs in all."""
        return self._connection.change("POST", f"/runs/{run_id}/extend", RunExtended, ExtensionRequest(epochs=epochs))

    def change_experiment(self, experiment_id: int, change: ExperimentChange) -> ExperimentDetail:
        """Change the labels of an experiment."""
        return self._connection.change("PATCH", f"/experiments/{experiment_id}", ExperimentDetail, change)

    def change_run(self, run_id: int, change: RunChange) -> RunLabels:
        """Change the labels of a run."""
        return self._connection.change("PATCH", f"/runs/{run_id}", RunLabels, change)

    def size(self, row_id: int, kind: Kind = "experiments") -> StoredSize:
        """Return what a deletion of an experiment or a run would remove, and the text that confirms the deletion."""
        return self._connection.get(f"/{kind}/{row_id}/size", StoredSize)

    def delete(self, row_id: int, kind: Kind = "experiments", *, confirm: str) -> Deleted:
        """Delete an experiment or a run that has ended, with its files; `confirm` is the text of its size."""
        return self._connection.change("DELETE", f"/{kind}/{row_id}", Deleted, ask={"confirm": confirm})

    def restore(self, row_id: int, kind: Kind = "experiments") -> Restored:
        """Undo the deletion of an experiment, with the runs that went with it, or of a run."""
        return self._connection.change("POST", f"/{kind}/{row_id}/restore", Restored)

    def deletions(self) -> Iterator[DeletionView]:
        """Yield the deletions that can be undone, the newest first; a loop may restore them."""
        place: Parameters = {}
        while True:
            page = self._connection.get("/deletions", DeletionPage, ask=place)
            yield from page.items
            if page.next is None:
                return
            place = {"after": page.next}

    def wait(self, experiment_id: int, timeout: float | None = None) -> ExperimentDetail:
        """Return the experiment when all its runs have ended; raise WaitTimeout after `timeout` seconds.

        A service that does not answer for a while does not end the wait.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            with suppress(Unreachable):
                found = self._detail(experiment_id)
                if found.state in ENDED:
                    return found
            left_s = POLL_INTERVAL_S if until is None else until - time.monotonic()
            if left_s <= 0:
                raise WaitTimeout(f"experiment {experiment_id} has not ended within {timeout:g} s")
            time.sleep(min(POLL_INTERVAL_S, left_s))

    def _detail(self, experiment_id: int) -> ExperimentDetail:
        return self._connection.get(f"/experiments/{experiment_id}", ExperimentDetail)


def _labels(origin: ExperimentDetail) -> dict[str, Any]:
    """Return the labels of a repeated experiment: those that the origin has now; the owner is who repeats it."""
    kept = {"name": origin.name, "description": origin.description, "project": origin.project, "tags": origin.tags}
    return {**kept, "owner": None, "notes": ""}


def _without_reuse(spec: BaseModel) -> dict[str, bool]:
    """Return the field by which a repeated run is carried out and takes no result of its origin."""
    return {"reuse": False} if "reuse" in type(spec).model_fields else {}


def _steps_without_reuse(spec: ExperimentSpec) -> list[dict[str, Any]]:
    """Return the steps of a workflow, whose runs take no result of the origin's."""
    steps = [step.model_dump(mode="json") for step in spec.steps]
    return [
        {**step, "base": {**step["base"], **({"reuse": False} if "reuse" in step["base"] else {})}} for step in steps
    ]
