"""A run of another tracker as this service stores it: names, parameters and points within the service's bounds."""

import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from contract.api.incoming.recording import RecordedRun
from contract.folder.bounds import INT4, MAX_SERIES, METRIC_NAME
from contract.metric_names import TRAINED_S
from contract.spec.labels import MAX_TAGS
from contract.spec.recorded.run import MAX_PARAMETERS

MAX_NAME, MAX_TEXT = 250, 10_000
TAG = re.compile(r"[^\s,\x00-\x1f\x7f]{1,60}")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Series:
    """Steps, values and moments of one metric, in the order in which they were reported."""

    def __init__(self) -> None:
        self.steps, self.values, self.times = array("q"), array("d"), array("d")

    def add(self, step: int, value: float, at: float) -> None:
        """Add a point; `at`: seconds since 1970, NaN if not known."""
        self.steps.append(step)
        self.values.append(value)
        self.times.append(at)


@dataclass
class ImportedRun:
    """One run of another tracker."""

    key: str
    name: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    notes: str = ""
    started_at: float | None = None  # seconds since 1970; without it the moment of the first point
    ended_at: float | None = None
    series: dict[str, Series] = field(default_factory=dict)
    left_out: int = 0  # points and parameters that the service cannot store

    def add(self, name: str, step: int, value: float, at: float = math.nan) -> None:
        """Add a point; one whose step or name the service cannot store is counted as left out."""
        if not (0 <= step <= INT4 and re.match(METRIC_NAME, name)):
            self.left_out += 1
            return
        if (found := self.series.get(name)) is None:
            if len(self.series) >= MAX_SERIES:
                self.left_out += 1
                return
            found = self.series[name] = Series()
        found.add(step, value, at)

    def recorded(self) -> RecordedRun:
        """Return what the service stores of the run besides its points."""
        parameters = {name: value_of(value) for name, value in self.parameters.items() if 0 < len(name) <= MAX_NAME}
        parameters = {name: value for name, value in parameters.items() if not CONTROL.search(name)}
        chosen = dict(list(parameters.items())[:MAX_PARAMETERS])
        self.left_out += len(self.parameters) - len(chosen)
        times = [at for series in self.series.values() for at in series.times if at > 0]
        return RecordedRun(
            key=self.key,
            name=CONTROL.sub(" ", self.name)[:MAX_NAME],
            parameters=chosen,
            tags=[tag for tag in dict.fromkeys(self.tags) if TAG.fullmatch(tag)][:MAX_TAGS],
            notes=self.notes.replace("\0", "")[:100_000],
            started_at=_moment(self.started_at, min(times, default=None)),
            ended_at=_moment(self.ended_at, max(times, default=None)),
        )

    def columns(self) -> Iterator[tuple[str, list[int], list[float]]]:
        """Yield steps and values of each series; the moments become the series of the time since the start."""
        clock: dict[int, float] = {}
        for name, series in self.series.items():
            steps = series.steps.tolist()
            yield name, steps, series.values.tolist()
            clock.update((step, at) for step, at in zip(steps, series.times, strict=True) if at > 0)
        if clock and TRAINED_S not in self.series:
            first = min(clock.values())
            steps = sorted(clock)
            yield TRAINED_S, steps, [clock[step] - first for step in steps]


def value_of(value: Any) -> Any:
    """Return a parameter as a number or a truth value where its text is one, else as a text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if abs(value) < 2**63 else str(value)  # NaN and infinities become texts
    text = str(value)
    if text in ("True", "False"):
        return text == "True"
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        return int(text)
    with suppress(ValueError):
        if re.match(r"[+-]?[0-9.]", text) and math.isfinite(number := float(text)) and "_" not in text:
            return number
    return text.replace("\0", "")[:MAX_TEXT]


def numbered(points: Iterable[tuple[int, float, float]]) -> Iterator[tuple[int, float, float]]:
    """Yield points (step, value, moment) by their steps; several ones that all have one step are numbered by moment."""
    found = list(points)
    if len(found) > 1 and len({step for step, _, _ in found}) == 1:
        found.sort(key=lambda point: point[2])
        yield from ((number, value, at) for number, (_, value, at) in enumerate(found))
        return
    yield from sorted(found, key=lambda point: (point[0], point[2]))


def _moment(known: float | None, measured: float | None) -> datetime | None:
    at = measured if known is None else known
    return None if at is None or not 0 < at < 4e9 else datetime.fromtimestamp(at, UTC)


def parameters_of(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values by names with slashes."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= parameters_of(value, f"{prefix}{name}/") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found
