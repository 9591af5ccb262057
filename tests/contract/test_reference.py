"""The reference of all fields: it is as new as the models, and it has every field of every part once."""

from pathlib import Path

import pytest

from contract.reference.field_text import type_of
from contract.reference.pages import RUNS, render_pages
from contract.reference.parts import find_parts
from contract.spec.checkpoint import Checkpoint
from contract.spec.choices.data import ImportedData
from contract.spec.choices.optimizers import AdamW
from contract.spec.experiment import ExperimentSpec
from contract.spec.program.run import ProgramSpec
from contract.spec.run import RunSpec

pytestmark = pytest.mark.ring("quick")

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return render_pages()


def test_the_reference_is_as_new_as_the_models(pages: dict[str, str]) -> None:
    assert {page: (DOCS / page).read_text() for page in pages} == pages, "run `make reference`"


def test_every_part_is_there_with_every_field(pages: dict[str, str]) -> None:
    models = [model for part in find_parts() for model in part.models]
    assert {ExperimentSpec, RunSpec, ProgramSpec, AdamW, ImportedData, Checkpoint} <= set(models)
    assert len(models) == len(set(models)) > 50
    text = "".join(pages.values())
    missing = [f"{model.__name__}.{name}" for model in models for name in model.model_fields if f"`{name}`" not in text]
    assert missing == []


def test_every_part_has_one_heading(pages: dict[str, str]) -> None:
    headings = [line for text in pages.values() for line in text.splitlines() if line.startswith("## ")]
    assert len(headings) == len(set(headings)) == len(find_parts())


@pytest.mark.parametrize(
    ("row", "page"),
    [
        ("| `epochs` | integer 1 <= x | required | epochs | Number of passes over the training data. |", RUNS),
        ("| `backoff_s` | number 0 <= x <= 86,400 | `30.0` | seconds | Delay before the first retry", RUNS),
        (
            "| `base` | [engine run](reference.md#engine-run) or [program run](reference.md#program-run) or null |",
            RUNS,
        ),
        (
            "| `width` | `convnet` | integer 1 <= x <= 1,024 | `16` | channels | Number of channels",
            "reference-nets.md",
        ),
        ("| `beta1` | `lamb`, `adam`, `adamw` | number 0 <= x < 1 | `0.9` |  | Decay of the", "reference-parts.md"),
        ("| `timeout_s` | all | number 0.1 <= x <= 1,800 | `300.0` | seconds | ", "reference.md"),
    ],
)
def test_a_row_has_type_default_unit_and_meaning(pages: dict[str, str], row: str, page: str) -> None:
    assert any(line.startswith(row) for line in pages[page].splitlines())


def test_a_type_is_in_words() -> None:
    fields, schema = ImportedData.model_fields, ImportedData.model_json_schema()["properties"]
    texts = {name: type_of(fields[name], schema[name]) for name in ("shape", "classes", "options", "function")}
    assert texts == {
        "shape": "list of integers 1 <= x",
        "classes": "integer 2 <= x <= 1,000,000 or null",
        "options": "object",
        "function": "text",
    }
