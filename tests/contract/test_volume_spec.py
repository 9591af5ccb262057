"""The spec of inference over a volume: operators have an order, and two tasks never write one block."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.program.run import ProgramSpec
from contract.spec.volume.volume import Volume
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

READ, WRITE = {"kind": "read", "path": "em"}, {"kind": "write", "path": "out"}
INFER = {"kind": "infer", "patch": [8, 8, 8], "overlap": [2, 2, 2]}
THRESHOLD, COMPONENTS = {"kind": "threshold"}, {"kind": "components"}
NORMALIZE = {"kind": "normalize", "mean": 1.0}


def errors_of(operators: list[dict[str, Any]], **fields: Any) -> dict[str, str]:
    """The message of each field that is wrong."""
    try:
        Volume.model_validate({"chunk": [8, 8, 8], "operators": operators, **fields})
    except ValidationError as error:
        return {issue.path: issue.message for issue in issues_of(error)}
    return {}


@pytest.mark.parametrize(
    "operators",
    [
        [READ, WRITE],
        [READ, NORMALIZE, INFER, NORMALIZE, WRITE],
        [
            READ,
            WRITE | {"path": "a"},
            INFER,
            WRITE | {"path": "b"},
            THRESHOLD,
            WRITE | {"path": "c"},
            COMPONENTS,
            WRITE,
        ],
    ],
)
def test_operators_in_a_possible_order_are_accepted(operators: list[dict[str, Any]]) -> None:
    assert errors_of(operators) == {}


@pytest.mark.parametrize(
    ("operators", "place", "words"),
    [
        ([INFER, WRITE], "operators.0", "first operator is read, not infer"),
        ([READ, READ | {"path": "x"}, WRITE], "operators.1", "and no other one"),
        ([READ, INFER], "operators.1", "its result would be lost"),
        ([READ, INFER, INFER, WRITE], "operators.2", "at most one infer"),
        ([READ, COMPONENTS, WRITE], "operators.1", "needs a mask"),
        ([READ, THRESHOLD, INFER, WRITE], "operators.2", "only components and write take a mask, not infer"),
        ([READ, THRESHOLD, COMPONENTS, NORMALIZE, WRITE], "operators.3", "only write takes components, not normalize"),
        ([READ, WRITE, WRITE], "operators.2.path", "out is read or written by another operator"),
        ([READ | {"path": "../em"}, WRITE], "operators.0.path", "leaves the folder"),
        ([READ, INFER | {"overlap": [2, 8, 2]}, WRITE], "operators.1.overlap", "cannot overlap by 8"),
    ],
)
def test_an_impossible_order_is_refused_by_its_place(operators: list[dict[str, Any]], place: str, words: str) -> None:
    assert words in errors_of(operators)[place]


def test_chunks_that_cut_blocks_are_refused() -> None:
    assert errors_of([READ, WRITE], block=[8, 4, 2]) == {}
    assert "do not divide into blocks of 3" in errors_of([READ, WRITE], block=[8, 3, 8])["block"]


def test_a_program_has_a_volume_whose_errors_name_their_place() -> None:
    document = {"kind": "program", "command": "python -m trainers.volume", "volume": {"chunk": [8, 8, 8]}}
    run = ProgramSpec.model_validate({**document, "volume": {"chunk": [8, 8, 8], "operators": [READ, WRITE]}})
    assert run.volume
    assert run.volume.blocks == [8, 8, 8]
    with pytest.raises(ValidationError) as refused:
        ProgramSpec.model_validate({**document, "volume": {"chunk": [8, 8, 8], "operators": [READ, INFER]}})
    assert [issue.path for issue in issues_of(refused.value)] == ["volume.operators.1"]
    with pytest.raises(ValidationError) as mistyped:
        ProgramSpec.model_validate(
            {**document, "volume": {"chunk": [8, 8, 8], "operators": [READ | {"path": 3}, WRITE]}}
        )
    assert [issue.path for issue in issues_of(mistyped.value)] == ["volume.operators.0.path"]
