"""The spec of a volume whose chunks the ranks of a program lease, one after another."""

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator

from contract.spec.base import Spec
from contract.spec.volume.operators import (
    Components,
    Edges,
    Infer,
    Operator,
    Operators,
    Read,
    Threshold,
    VolumePath,
    Write,
)
from contract.validation import ValidationIssue, validation_error

EXAMPLE = [
    {"kind": "read", "path": "/data/em.zarr"},
    {"kind": "infer", "patch": [32, 32, 32], "overlap": [8, 8, 8]},
    {"kind": "write", "path": "out"},
]


class Volume(Spec):
    """Inference over a volume, chunk by chunk: each chunk is a task that any worker may lease."""

    operators: Operators = Field(examples=[EXAMPLE])
    """What is done with each chunk, in this order: first `read`, last `write`."""
    chunk: Edges = Field(examples=[[64, 64, 64]])
    """Voxels of the part of the output that one task makes, along z, y and x."""
    block: Edges | None = Field(default=None, examples=[[32, 32, 32]])
    """Voxels of a storage block of the outputs; it divides `chunk`, so that no two tasks write the same block; null:
    one block for each chunk."""
    work: VolumePath | None = Field(default=None, examples=["/scratch/em-labels"])
    """Folder on the shared file system with leases and finished tasks: runs with the same folder share the tasks; null:
    a folder of the run."""
    lease_s: Annotated[float, Field(ge=0.5, le=86_400)] = 120.0
    """Seconds without a sign of life of a worker after which others take over its task."""

    @property
    def blocks(self) -> list[int]:
        """The voxels of a storage block of the outputs."""
        return self.block or self.chunk

    @model_validator(mode="after")
    def _check_volume(self) -> Self:
        if issues := list(self._issues()):
            raise validation_error(issues)
        return self

    def _issues(self) -> Iterator[ValidationIssue]:
        for size, block in zip(self.chunk, self.blocks, strict=True):
            if size % block:
                message = (
                    f"chunks of {size} voxels do not divide into blocks of {block}: two tasks would write one block"
                )
                yield ValidationIssue(path="block", message=message)
        paths = [one.path for one in self.operators if isinstance(one, Read | Write)]
        for number, one in enumerate(self.operators):
            at = f"operators.{number}"
            if isinstance(one, Read | Write) and ".." in one.path.split("/"):
                yield ValidationIssue(path=f"{at}.path", message="'..' leaves the folder")
            if isinstance(one, Write) and paths.count(one.path) > 1:
                yield ValidationIssue(path=f"{at}.path", message=f"{one.path} is read or written by another operator")
            if isinstance(one, Infer):
                yield from _patch_issues(one, at)
            if reason := _misplaced(self.operators, number):
                yield ValidationIssue(path=at, message=reason)


def _patch_issues(infer: Infer, at: str) -> Iterator[ValidationIssue]:
    for patch, overlap in zip(infer.patch, infer.overlap, strict=True):
        if overlap >= patch:
            message = f"patches of {patch} voxels cannot overlap by {overlap}"
            yield ValidationIssue(path=f"{at}.overlap", message=message)


def _misplaced(operators: list[Operator], number: int) -> str | None:
    """Return why an operator cannot stand at its place; None if it can."""
    one, before = operators[number], operators[:number]
    last = number == len(operators) - 1
    if isinstance(one, Read) != (number == 0):
        return (
            "the first operator is read, and no other one" if number else f"the first operator is read, not {one.kind}"
        )
    if last and not isinstance(one, Write):
        return f"the last operator is write, not {one.kind}: its result would be lost"
    if isinstance(one, Infer | Components) and any(isinstance(other, type(one)) for other in before):
        return f"there is at most one {one.kind}"
    return _after_mask(one, before)


def _after_mask(one: Operator, before: list[Operator]) -> str | None:
    """Return why an operator cannot follow a mask or components, or needs a mask that is not there."""
    is_mask = any(isinstance(other, Threshold) for other in before)
    if any(isinstance(other, Components) for other in before) and not isinstance(one, Write):
        return f"only write takes components, not {one.kind}"
    if isinstance(one, Components):
        return None if is_mask else "components needs a mask: put threshold before it"
    if is_mask and not isinstance(one, Write):
        return f"only components and write take a mask, not {one.kind}"
    return None


def describe_volume(volume: Volume) -> str:
    """Return the operators and the chunks as a line of text."""
    operators = " > ".join(_describe(one) for one in volume.operators)
    return f"{operators}, in chunks of {_by(volume.chunk)} and blocks of {_by(volume.blocks)} voxels"


def _describe(one: Operator) -> str:
    match one:
        case Read(path=path) | Write(path=path):
            return f"{one.kind} {path}"
        case Infer(patch=patch, overlap=overlap, checkpoint=checkpoint):
            net = "the identity" if checkpoint is None else checkpoint
            return f"infer {net} on patches of {_by(patch)} that overlap by {_by(overlap)}"
        case Threshold(at=at):
            return f"threshold {at:g}"
        case _:
            return one.kind


def _by(sizes: list[int]) -> str:
    return " x ".join(map(str, sizes))
