"""The axes of an experiment, as a picture draws them: numeric ones, and categories.

Variants, which set several fields together, are one axis. The field that repeats runs (a seed) is none.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from contract.api.answer import AnswerAxis, AxisScale
from contract.api.responses import RunView
from contract.spec.experiment import ExperimentSpec
from contract.spec.recorded.run import RecordedExperiment
from study.answer.texts import axis_names, value_text

WIDE = 10  # a numeric axis whose values differ by this factor is logarithmic


@dataclass(frozen=True)
class Axis:
    """A field along which runs differ, or several fields that variants set together."""

    paths: tuple[str, ...]
    names: tuple[str, ...]
    base: tuple[Any, ...]  # the values of a run that was added outside the grid and does not set a field
    points: tuple[tuple[Any, ...], ...]  # the distinct values of the runs, in the order of the grid

    @property
    def path(self) -> str:
        """The path that stands for the axis."""
        return self.paths[self._leading]

    @property
    def name(self) -> str:
        """The name of that field."""
        return self.names[self._leading]

    @cached_property
    def numbers(self) -> list[float] | None:
        """The values, ascending, if they are numbers; of variants if every field is a number."""
        if not all(_is_number(value) for point in self.points for value in point):
            return None
        leading = [float(point[self._leading]) for point in self.points]
        return sorted(leading) if len(set(leading)) == len(leading) else None

    @cached_property
    def labels(self) -> dict[str, str]:
        """The text of each point, by its key: its first field, and further ones where they tell points apart."""
        texts = {json.dumps(point, sort_keys=True): value_text(point[0]) for point in self.points}
        for index, name in enumerate(self.names[1:], start=1):
            own = {key: value_text(json.loads(key)[index]) for key in texts}
            alike: dict[str, set[str]] = {}
            for key, text in texts.items():
                alike.setdefault(text, set()).add(own[key])
            texts = {
                key: text + (f", {name} {own[key]}" if len(alike[text]) > 1 else "") for key, text in texts.items()
            }
        return texts

    def point_of(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the values of a run at this axis."""
        return tuple(values.get(path, base) for path, base in zip(self.paths, self.base, strict=True))

    def number_of(self, values: Mapping[str, Any]) -> float:
        """Return the number of a run at a numeric axis."""
        return float(self.point_of(values)[self._leading])

    def label_of(self, values: Mapping[str, Any]) -> str:
        """Return the text of a run's values at this axis."""
        return self.labels[json.dumps(self.point_of(values), sort_keys=True)]

    def view(self) -> AnswerAxis:
        """Return the numeric axis as the API shows it."""
        assert self.numbers is not None
        return AnswerAxis(path=self.path, name=self.name, scale=scale_of(self), values=self.numbers)

    @property
    def _leading(self) -> int:
        return next((index for index, path in enumerate(self.paths) if is_batch(path)), 0)


def find_axes(spec: ExperimentSpec | RecordedExperiment, runs: Sequence[RunView], over: str | None) -> list[Axis]:
    """Return the axes with several values, without the field `over` that repeats runs; variants first.

    The names of runs that were carried out elsewhere are an axis only where the runs differ in no parameter.
    """
    together = tuple(path for path in (spec.variants[0] if spec.variants else {}) if path != over)
    paths = [path for run in runs for path in run.values if path not in together and path != over]
    fields = [*([together] if together else []), *((path,) for path in dict.fromkeys(paths))]
    names = dict(zip((flat := [path for group in fields for path in group]), axis_names(flat), strict=True))
    base = spec.base.model_dump(mode="json") if fields and spec.base else {}
    found = [_axis(group, names, base, runs) for group in fields]
    axes = [axis for axis in found if len(axis.points) > 1]
    parameters = [axis for axis in axes if axis.path != "name"]
    return parameters if parameters and isinstance(spec, RecordedExperiment) else axes


def _axis(paths: tuple[str, ...], names: Mapping[str, str], base: Mapping[str, Any], runs: Sequence[RunView]) -> Axis:
    axis = Axis(paths, tuple(names[path] for path in paths), tuple(_field(base, path) for path in paths), ())
    points = {json.dumps(point, sort_keys=True): point for point in (axis.point_of(run.values) for run in runs)}
    varied = [index for index in range(len(paths)) if len({json.dumps(p[index]) for p in points.values()}) > 1]
    if len(varied) == len(paths):
        return Axis(axis.paths, axis.names, axis.base, tuple(points.values()))
    # a field that all variants set alike says nothing
    return _axis(tuple(paths[index] for index in varied), names, base, runs) if varied else axis


def scale_of(axis: Axis) -> AxisScale:
    """Return the scale of a numeric axis: log2 for powers of two times the first value, and for batches."""
    numbers = axis.numbers or []
    if len(numbers) < 2 or numbers[0] <= 0:
        return AxisScale.LINEAR
    exponents = [math.log2(number / numbers[0]) for number in numbers]
    if all(abs(exponent - round(exponent)) < 1e-9 for exponent in exponents):
        return AxisScale.LOG2
    ratio = numbers[-1] / numbers[0]
    if is_batch(axis.path) and ratio >= 4 and all(b / a >= 1.2 for a, b in pairwise(numbers)):
        return AxisScale.LOG2
    return AxisScale.LOG10 if ratio >= WIDE else AxisScale.LINEAR


def is_batch(path: str) -> bool:
    """Return whether the field is a batch size."""
    return path.split(".")[-1] in ("batch", "batch_size", "micro_batch")


def _field(document: object, path: str) -> Any:
    for name in path.split("."):
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
