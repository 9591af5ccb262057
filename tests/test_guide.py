"""The guide's examples are valid: each YAML example is read and checked as a part of an experiment."""

import re
from pathlib import Path
from typing import Any

import pytest

from contract.spec.experiment import ExperimentSpec
from contract.yaml_reader import read_document

HOUSE = Path(__file__).parents[1]
GUIDE = (HOUSE / "docs" / "guide.md").read_text()
EXAMPLES: list[str] = re.findall(r"^```yaml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
RUN: dict[str, Any] = read_document((HOUSE / "recipes" / "first-run.yaml").read_bytes())


def experiment(example: str) -> ExperimentSpec:
    """Return the example as an experiment; what it does not state is that of the first run."""
    fields = read_document(example.encode())
    outside = {name: fields.pop(name) for name in [*fields] if name in ExperimentSpec.model_fields}
    return ExperimentSpec.model_validate(
        {**RUN, **outside, "base": {**RUN["base"], **fields, **outside.get("base", {})}}
    )


def test_the_guide_has_examples_of_axes_and_variants() -> None:
    assert any(example.startswith("axes:") for example in EXAMPLES)
    assert any(example.startswith("variants:") for example in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split(":")[0])
def test_every_yaml_example_of_the_guide_is_valid(example: str) -> None:
    assert experiment(example).points()


def test_the_numbers_of_runs_are_those_of_the_text() -> None:
    sizes = {example.split(":")[0]: len(experiment(example).points()) for example in EXAMPLES}
    assert (sizes["axes"], sizes["variants"]) == (12, 6)
