"""What the client returns of an experiment and of points: the models of contract.api, with pandas DataFrames."""

from collections.abc import Sequence
from typing import Any, Protocol, Self

from pydantic import PrivateAttr

from bigbatch.frame import frame_of_columns
from contract.api.curves import RunPoints
from contract.api.responses import ExperimentDetail


class Frames(Protocol):
    """The methods of the client that an experiment calls."""

    def to_frame(self, experiment_id: int, *, over: str | None = None) -> Any:
        """Return a row per run."""

    def points_to_frame(self, where: str = "", **options: Any) -> Any:
        """Return a row per point."""


class Experiment(ExperimentDetail):
    """An experiment as it was when the client read it; its frames are read when they are asked for."""

    _client: Frames | None = PrivateAttr(default=None)

    def read_by(self, client: Frames) -> Self:
        """Return the experiment itself, whose frames `client` reads."""
        self._client = client
        return self

    def frame(self, *, over: str | None = None) -> Any:
        """Return a DataFrame with a row per run: its values and newest metrics; with `over` a row per group of runs."""
        return self._frames().to_frame(self.id, over=over)

    def points(self, names: Sequence[str] = (), *, first: int = 0, last: int | None = None) -> Any:
        """Return a DataFrame with a row per point of all runs: run, series, step, value; without names, all series."""
        return self._frames().points_to_frame(experiment_id=self.id, names=names, first=first, last=last)

    def _frames(self) -> Frames:
        assert self._client is not None, "only Client.experiment makes an Experiment"
        return self._client


class PointsOfRun(RunPoints):
    """The points of one run."""

    def frame(self) -> Any:
        """Return a DataFrame with a row per step and a column per series; NaN where a series has no point."""
        return frame_of_columns({name: (column.steps, column.values) for name, column in self.series.items()})
