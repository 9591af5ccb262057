"""Tests of YAML and JSON documents, and of the errors for other texts."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.yaml_reader import DocumentError, read_document

pytestmark = pytest.mark.ring("quick")

# nine levels of ten aliases each
BILLION_LAUGHS = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in pairwise("abcdefghi")
)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=20)


# how long a busy machine takes is no claim
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.dictionaries(texts, values))
def test_json_is_read_as_json_reads_it(document: dict[str, object]) -> None:
    assert read_document(json.dumps(document)) == document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("1e-3", 0.001), ("1E5", 100000.0), ("010", 10), ("0x1F", 31), ("0o17", 15), ("-0x1F", "-0x1F")),
        *(("on", "on"), ("2026-01-01", "2026-01-01"), ("1:30", "1:30"), ("1_000", "1_000"), ("inf", "inf")),
    ],
)
def test_scalars_are_read_as_yaml_1_2_reads_them(text: str, value: object) -> None:
    assert read_document(f"x: {text}") == {"x": value}


@pytest.mark.parametrize("name", ["08", "1e-3", "true", "null", "0x1F", ".inf", "on"])
def test_a_name_of_a_field_is_a_text_as_it_is_written(name: str) -> None:
    assert read_document(f"net: {{{name}: 1}}\n{name}: 2") == {"net": {name: 1}, name: 2}


@pytest.mark.parametrize("number", [".inf", "-.INF", "+.Inf", ".nan", "1e400", "NaN", "Infinity"])
def test_a_number_that_json_cannot_carry_is_refused_with_its_field(number: str) -> None:
    text = f'{{"base": {{"rates": [1, {number}]}}}}' if number[0] in "NI" else f"base:\n  rates: [1, {number}]"
    with pytest.raises(DocumentError, match=r"base\.rates\.1: -?(inf|nan) is not a finite number"):
        read_document(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [1", "line 1, column 6: expected ',' or ']'"),
        ("", "the document is empty"),
        ("- 1", "the document is a list"),
        ("a: 1\na: 2", "line 2: the field 'a' is given twice"),
        ("a: &x [*x]", "line 1: a value contains itself"),
        ("a: &x {b: 1}\nc:\n  <<: *x", "line 3: merge keys (<<) are not supported: write their fields here"),
        ("[" * 5000, "too many nested levels"),
        (
            "a: !!python/object:os.system x",
            "line 1: values of type tag:yaml.org,2002:python/object:os.system are not supported",
        ),
        (b"\xff\xfe\x00", "unacceptable character"),
        ("a: !!binary aGk=", "are not supported"),
        ("a: !!timestamp 2026-01-01", "are not supported"),
        ("a: !!bool maybe", "maybe"),
        ('{"a": "\\ud800"}', "contains a NUL or surrogate character"),
        ('{"a": "\\u0000"}', "contains a NUL or surrogate character"),
        ('{"a": ' + "[" * 60 + "]" * 60 + "}", "more than 50 nested levels"),
        ("a: [" + "1," * 200_000 + "1]", "has more than 100,000 values"),
        (BILLION_LAUGHS, "expands to more than 100,000 values"),
    ],
    ids=[
        *("open bracket", "empty", "list", "twice", "cycle", "merge key", "deep", "tag", "bytes"),
        *("binary", "timestamp", "bool", "surrogate", "nul", "depth", "many", "billion laughs"),
    ],
)
def test_what_is_no_document_is_refused_with_its_line(text: str | bytes, complaint: str) -> None:
    with pytest.raises(DocumentError, match=re.escape(complaint)):
        read_document(text)
