"""The axes of an experiment, as a picture draws them: numeric ones, and categories.

Variants, which set several fields together, are one axis. The field that repeats runs (a seed) is none.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from contract.api.answer import AnswerAxis, AxisScale
from contract.api.responses import RunView
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.equal_values import value_key
from contract.spec.recorded.run import RecordedExperiment
from study.answer.texts import axis_names, distinct_texts, number_texts

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
        """The text of each point, by its key: its first field, and further ones where they tell points apart.

        Words come before numbers: where sgd and lars have their own rates, they are called sgd and lars.
        """
        order = sorted(range(len(self.paths)), key=self.is_numeric)
        keys = [value_key(point) for point in self.points]
        texts = dict.fromkeys(keys, "")
        for index in order:
            of_values = {value_key(point[index]): point[index] for point in self.points}
            own = dict(zip(of_values, distinct_texts(list(of_values.values())), strict=True))
            found = {key: own[value_key(point[index])] for key, point in zip(keys, self.points, strict=True)}
            alike: dict[str, set[str]] = {}
            for key, text in texts.items():
                alike.setdefault(text, set()).add(found[key])
            name = f"{self.names[index]} " if index != order[0] else ""
            texts = {
                key: ", ".join(filter(None, [text, f"{name}{found[key]}" if len(alike[text]) > 1 else ""]))
                for key, text in texts.items()
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
        return self.labels[value_key(self.point_of(values))]

    def text_of(self, number: float | None) -> str:
        """Return a value of the numeric axis with its name: batch 256."""
        return f"{self.name} {self.number_texts.get(number, '') if number is not None else ''}"

    @cached_property
    def number_texts(self) -> dict[float, str]:
        """The text of each value of the numeric axis."""
        return number_texts(self.numbers or [])

    def view(self) -> AnswerAxis:
        """Return the numeric axis as the API shows it."""
        assert self.numbers is not None
        return AnswerAxis(path=self.path, name=self.name, scale=scale_of(self), values=self.numbers)

    def alone(self, index: int) -> "Axis":
        """Return one of the fields as an axis of its own."""
        values = {value_key(point[index]): (point[index],) for point in self.points}
        return Axis(*((own[index],) for own in (self.paths, self.names, self.base)), tuple(values.values()))

    def is_numeric(self, index: int) -> bool:
        """Return whether all values of one of the fields are numbers."""
        return all(_is_number(point[index]) for point in self.points)

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
    axes = [part for axis in found if len(axis.points) > 1 for part in _split(axis)]
    parameters = [axis for axis in axes if axis.path != "name"]
    return parameters if parameters and isinstance(spec, RecordedExperiment) else axes


def _axis(paths: tuple[str, ...], names: Mapping[str, str], base: Mapping[str, Any], runs: Sequence[RunView]) -> Axis:
    axis = Axis(paths, tuple(names[path] for path in paths), tuple(_field(base, path) for path in paths), ())
    points = {value_key(point): point for point in (axis.point_of(run.values) for run in runs)}
    varied = [index for index in range(len(paths)) if len({value_key(point[index]) for point in points.values()}) > 1]
    if len(varied) == len(paths):
        return Axis(axis.paths, axis.names, axis.base, tuple(points.values()))
    # a field that all variants set alike says nothing
    return _axis(tuple(paths[index] for index in varied), names, base, runs) if varied else axis


def _split(axis: Axis) -> list[Axis]:
    """Return the batch and one other field as two axes where variants are the pairs of both; else the axis.

    The further fields follow from the pair: each optimizer has its own rate at each batch.
    """
    batch = next((index for index, path in enumerate(axis.paths) if is_batch(path)), None)
    if batch is None or axis.numbers is not None or axis.alone(batch).numbers is None:
        return [axis]
    others = sorted((index for index in range(len(axis.paths)) if index != batch), key=axis.is_numeric)
    for index in others:
        pairs = {value_key([point[batch], point[index]]) for point in axis.points}
        if len(pairs) == len(axis.points):
            return [axis.alone(batch), axis.alone(index)]
    return [axis]


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
