"""An experiment: a base run and the axes along which it varies."""

import json
from collections.abc import Hashable, Iterator
from itertools import product
from math import prod
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from contract.spec.base import Spec
from contract.spec.checks.packing import MOST, pack_misfits
from contract.spec.run import RunSpec
from contract.validation import Fault, faults_of, refusal

MAX_POINTS = 10_000  # a sweep beyond this is a slip of the pen far more often than a wish
MAX_FAULTS = 100  # as many as a person reads

Values = dict[str, Any]  # dotted path -> the value that this point has there


class ExperimentSpec(Spec):
    """A base run and axes (dotted paths: lists of values); every point of the grid is one run."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$")]
    description: Annotated[str, Field(max_length=10_000)] = ""
    base: RunSpec
    axes: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    max_parallel: Annotated[int, Field(ge=1, le=100_000)] | None = None  # of its runs that may run at once on a Slurm
    pack: Annotated[int, Field(ge=2, le=MOST)] | None = (
        None  # so many of its runs share a Slurm job, side by side on a node
    )
    _points: list[tuple[Values, RunSpec]] = PrivateAttr(default=[])
    _was_checked: bool = PrivateAttr(default=False)

    @classmethod
    def checked_before(cls, stored: dict[str, Any]) -> Self:
        """The spec of an experiment that was let in: thousands of points are not made and checked again to be shown."""
        spec = cls.model_construct(**{**stored, "base": RunSpec.model_validate(stored["base"])})
        spec._was_checked = True
        return spec

    def points(self) -> list[tuple[Values, RunSpec]]:
        """Every point of the grid: what it varies, and the whole run; the last axis turns fastest."""
        return self._points

    @model_validator(mode="after")
    def _every_point_parses(self) -> Self:
        if self._was_checked:  # pydantic asks anew when the spec becomes a part of an answer
            return self
        size = prod(len(values) for values in self.axes.values())
        if size > MAX_POINTS:
            factors = " x ".join(str(len(values)) for values in self.axes.values())
            message = f"the sweep has {factors} = {size:,} points; at most {MAX_POINTS:,} are taken"
            raise refusal([Fault(path="axes", message=message)])
        if faults := list(_axes_misfits(self.axes)):
            raise refusal(faults)
        points, faults = _expand(self.base.model_dump(mode="json"), self.axes)
        if faults := faults or list(pack_misfits(self.pack, self.max_parallel, [run for _, run in points])):
            raise refusal(faults)
        # a private attribute, so frozen stays true of everything a user can see
        self._points = points
        return self


def _axes_misfits(axes: dict[str, list[Any]]) -> Iterator[Fault]:
    for path, values in axes.items():
        if not all(path.split(".")):
            yield Fault(path=f"axes.{path}", message=f"'{path}' is not a dotted path into a run")
        for other in axes:
            if path.startswith(f"{other}."):
                yield Fault(path=f"axes.{path}", message=f"the axis '{other}' sets this field as well")
        if twice := list(_repeated(values)):
            yield Fault(path=f"axes.{path}", message=f"{twice[0]!r:.80} stands there twice")


def _repeated(values: list[Any]) -> Iterator[Any]:
    """The values that stand there before already."""
    seen: set[Any] = set()
    for value in values:
        key = value if isinstance(value, Hashable) else json.dumps(value, sort_keys=True, default=str)
        if key in seen:
            yield value
        seen.add(key)


def _expand(base: dict[str, Any], axes: dict[str, list[Any]]) -> tuple[list[tuple[Values, RunSpec]], list[Fault]]:
    """The runs of the grid, and what is wrong with those that do not parse."""
    points: list[tuple[Values, RunSpec]] = []
    faults: list[Fault] = []
    for number, chosen in enumerate(product(*axes.values())):
        values = dict(zip(axes, chosen, strict=True))
        try:
            points.append((values, RunSpec.model_validate(_with(base, values))))
        except ValidationError as error:
            where = ", ".join(f"{path}={str(value)[:80]}" for path, value in values.items())
            for fault in faults_of(error):
                message = f"{fault.message} (point {number}: {where})" if where else fault.message
                faults.append(Fault(path=_place(fault.path, axes), message=message))
            if len(faults) >= MAX_FAULTS:
                break
    return points, faults[:MAX_FAULTS]


def _place(path: str, axes: dict[str, list[Any]]) -> str:
    """Where the user wrote the field: in the axis that sets it, or a part of it, or in the base."""
    meets = any(f"{path}.".startswith(f"{axis}.") or f"{axis}.".startswith(f"{path}.") for axis in axes)
    return f"{'axes' if meets else 'base'}.{path}"


def _with(base: dict[str, Any], values: Values) -> dict[str, Any]:
    """`base` with dotted paths replaced: {"resources.nodes": 2} -> base["resources"]["nodes"] = 2."""
    out = {key: dict(value) if isinstance(value, dict) else value for key, value in base.items()}
    for path, value in values.items():
        *parents, leaf = path.split(".")
        at = out
        for parent in parents:
            inner = at.get(parent)
            # what is no object becomes one, so that validation names the path as unknown
            at[parent] = dict(inner) if isinstance(inner, dict) else {}
            at = at[parent]
        at[leaf] = value
    return out
