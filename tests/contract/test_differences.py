"""Tests of the differences between two documents: what a program reads as different is different."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings

from contract.differences import differences, is_same
from tests.contract.test_yaml_writer import documents, typed

pytestmark = pytest.mark.ring("quick")


@pytest.mark.parametrize(("first", "second"), [*combinations([1, 1.0, True, "1", "1.0", None, [1], {"a": 1}], 2)])
def test_values_of_different_types_differ(first: Any, second: Any) -> None:
    for wrap in (lambda value: value, lambda value: [value], lambda value: [{"deep": value}]):
        found = list(differences({"x": wrap(first)}, {"x": wrap(second)}))
        assert found == [("x", wrap(first), wrap(second))]


@settings(max_examples=30, deadline=None)
@given(documents, documents)
def test_documents_without_a_difference_are_the_same_to_the_type(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert not list(differences(first, first))
    assert is_same(first, second) is (typed(first) == typed(second))
