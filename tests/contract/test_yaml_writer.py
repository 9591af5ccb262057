"""Tests of the YAML writer: what it writes is read as the same values of the same types."""

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.yaml_reader import read_document
from contract.yaml_writer import write_yaml
from tests.contract.test_yaml_reader import scalars, texts

pytestmark = pytest.mark.ring("quick")

# short texts of these characters are often numbers, moments, words of YAML or its punctuation
LIKE_OTHER_TYPES = st.text("0123456789eExXo+-.:_~ tnfa#'\"[]{}&*!|>%@,?\n", max_size=8)
WORDS = [
    "\x85",
    "25921e05",
    "08",
    "0o17",
    "0x1F",
    ".inf",
    "-.INF",
    ".nan",
    "1_000",
    "1:30",
    "on",
    "y",
    "~",
    "",
    "null",
    "True",
]
names = texts | LIKE_OTHER_TYPES | st.sampled_from(WORDS)
leaves = scalars | names
documents = st.dictionaries(
    names,
    leaves | st.lists(leaves, max_size=3) | st.dictionaries(names, st.lists(leaves, max_size=2), max_size=2),
    max_size=4,
)


def typed(value: Any) -> Any:
    """Return a value that differs from another one also where only a type differs: 1 and 1.0 and true."""
    if isinstance(value, dict):
        return {name: typed(one) for name, one in value.items()}
    return [typed(one) for one in value] if isinstance(value, list) else (type(value), repr(value))


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents)
def test_what_is_written_is_read_as_the_same_values_of_the_same_types(document: dict[str, Any]) -> None:
    assert typed(read_document(write_yaml(document))) == typed(document)


@pytest.mark.parametrize("word", WORDS)
def test_a_text_that_looks_like_another_type_is_a_text_for_readers_of_both_versions(word: str) -> None:
    written = write_yaml({"value": word, word: [word]})
    assert read_document(written) == yaml.safe_load(written) == {"value": word, word: [word]}


def test_an_object_that_occurs_twice_is_written_twice() -> None:
    shared = {"kind": "lars"}
    assert "&" not in write_yaml({"first": shared, "second": shared})
