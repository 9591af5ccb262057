"""The grid of an experiment: its variants, each of which sets several fields together, times its axes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from contract.spec.grid.dotted_paths import overlap, path_issues
from contract.spec.grid.equal_values import repeated_values
from contract.validation import ValidationIssue

MAX_POINTS = 10_000  # a larger grid is usually a mistake
MAX_AXES = 100  # a run has fewer fields, besides the options of an imported part

Values = dict[str, Any]  # dotted path -> the value of this point


@dataclass(frozen=True)
class Grid:
    """The variants (dotted path: value, several at once) and the axes (dotted path: values) of an experiment."""

    variants: Sequence[Values]
    axes: Mapping[str, Sequence[Any]]

    @property
    def size(self) -> int:
        """The number of points."""
        return prod(self._lengths())

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The values of each field that the grid sets, by its path in the document; sound variants only."""
        together = {f"variants.0.{path}": [one[path] for one in self.variants] for path in self._varied()}
        return together | {f"axes.{path}": list(values) for path, values in self.axes.items()}

    @property
    def paths(self) -> list[str]:
        """The dotted paths of the fields that the grid sets."""
        return [*self._varied(), *self.axes]

    def points(self) -> Iterator[Values]:
        """Yield the values of every point: the variants vary slowest, the last axis fastest."""
        for variant in self.variants or [{}]:
            for chosen in product(*self.axes.values()):
                yield {**variant, **dict(zip(self.axes, chosen, strict=True))}

    def path_in_document(self, path: str, number: int) -> str:
        """Return where point `number` has the field: in its variant, in an axis, or in the base."""
        if any(overlap(path, axis) for axis in self.axes):
            return f"axes.{path}"
        if any(overlap(path, varied) for varied in self._varied()):
            return f"variants.{number // prod(map(len, self.axes.values()))}.{path}"
        return f"base.{path}"

    def size_issue(self) -> ValidationIssue | None:
        """Return an issue if the grid has too many fields or points, before any of them is read."""
        fields = len(self.axes) + max(map(len, self.variants), default=0)
        if fields > MAX_AXES:
            path = "axes" if len(self.axes) > MAX_AXES else "variants"
            message = f"{fields:,} axes are more than the limit of {MAX_AXES}"
            return ValidationIssue(path=path, message=message)
        if self.size > MAX_POINTS:
            factors = " x ".join(map(str, self._lengths()))
            message = f"the grid has {factors} = {self.size:,} points, more than the limit of {MAX_POINTS:,}"
            return ValidationIssue(path="axes" if self.axes else "variants", message=message)
        return None

    def issues(self, fields: Sequence[str]) -> Iterator[ValidationIssue]:
        """Yield an issue for each path or value that is wrong, whatever the run; `fields`: those that a run has."""
        for path, values in self.axes.items():
            yield from path_issues(f"axes.{path}", path, fields)
            for other in self.axes:
                if path.startswith(f"{other}."):
                    yield ValidationIssue(path=f"axes.{path}", message=f"the axis '{other}' also sets this field")
            if twice := list(repeated_values(values)):
                yield ValidationIssue(path=f"axes.{path}", message=f"{twice[0]!r:.80} is listed twice")
        yield from self._variant_issues(fields)

    def _variant_issues(self, fields: Sequence[str]) -> Iterator[ValidationIssue]:
        for path in self._varied():
            where = f"variants.0.{path}"
            yield from path_issues(where, path, fields)
            for axis in self.axes:
                if overlap(path, axis):
                    yield ValidationIssue(path=where, message=f"the axis '{axis}' also sets this field")
            for other in self._varied():
                if path.startswith(f"{other}."):
                    yield ValidationIssue(path=where, message=f"'{other}' of the same variant also sets this field")
        for number, variant in enumerate(self.variants):
            for path in [path for path in self._varied() if path not in variant]:
                message = f"'{path}' is missing: all variants set the same fields, and variants.0 sets it"
                yield ValidationIssue(path=f"variants.{number}", message=message)
            for path in [path for path in variant if path not in self.variants[0]]:
                message = "variants.0 does not set this field: all variants set the same fields"
                yield ValidationIssue(path=f"variants.{number}.{path}"[:200], message=message)
        if list(repeated_values(self.variants)):
            yield ValidationIssue(path="variants", message="a variant is listed twice")

    def _varied(self) -> list[str]:
        return list(self.variants[0]) if self.variants else []

    def _lengths(self) -> list[int]:
        return [*([len(self.variants)] if self.variants else []), *map(len, self.axes.values())]
