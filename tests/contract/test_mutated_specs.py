"""Mutated specs: each is refused with an issue, or is a run whose derived numbers are usable."""

import math
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from contract.settings import Settings
from contract.spec.expanded import read_experiment
from contract.spec.run import RunSpec
from contract.validation import ValidationIssue, issues_of
from contract.yaml_reader import read_document
from scheduler.submit.dry_run import describe_submissions
from tests.testing.mutated_specs import mutated_specs

pytestmark = pytest.mark.ring("quick")

RECIPES = Path(__file__).parents[2] / "recipes"
FLOAT32_MAX = 3.4e38
GENEROUS_S = 5.0  # processor time to check a spec, which takes milliseconds


def bases() -> tuple[dict[str, Any], ...]:
    """Return the first point of each recipe."""
    found = []
    for path in sorted(RECIPES.glob("*.yaml")):
        document = read_document(path.read_bytes())
        if isinstance(document.get("base"), dict):
            (_, run), *_ = read_experiment(document).points
            found.append(run.model_dump(mode="json"))
    return tuple(found)


def checked(document: dict[str, Any]) -> tuple[RunSpec | None, list[ValidationIssue]]:
    """Return the run, or the issues for which the document is refused."""
    try:
        run = RunSpec.model_validate(document)
    except ValidationError as error:
        return None, issues_of(error)
    issues = list(run.new_run_issues())
    return (None, issues) if issues else (run, [])


@pytest.mark.parametrize("seed", range(4))
def test_a_mutated_spec_is_refused_or_has_usable_numbers(seed: int) -> None:
    accepted, refused = 0, 0
    for document in mutated_specs(seed, 150, bases()):
        started_s = time.thread_time()
        run, issues = checked(document)
        assert time.thread_time() - started_s < GENEROUS_S, document
        if run is None:
            assert issues, document
            refused += 1
            continue
        assert RunSpec.model_validate_json(run.model_dump_json()) == run, document
        assert 1 <= run.steps < 2**31, document
        assert 0 < run.peak_rate < FLOAT32_MAX, document
        assert run.replica is None or math.isfinite(run.replica.total_bytes(run.resources.node_ranks)), document
        experiment = read_experiment({"name": "mutated", "base": run.model_dump(mode="json")})
        assert any(describe_submissions(experiment, Settings(home=Path("/h")))), document
        accepted += 1
    # both must occur, or the mutations test nothing
    assert accepted > 20
    assert refused > 20
