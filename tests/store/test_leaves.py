"""The fields of specs: what a run has beside its experiment's base run gives its own spec."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.run_table.leaves import ABSENT, MAX_TEXT, Leaf, different_leaves, leaves

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.text("ab", max_size=2), st.lists(st.integers(0, 2))
)
DOCUMENTS = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(SCALARS, lambda inner: st.dictionaries(st.sampled_from("xyz"), inner, max_size=3), max_leaves=6),
)


@pytest.mark.ring("all")
@given(document=DOCUMENTS, base=DOCUMENTS)
def test_the_fields_of_base_and_run_together_are_those_of_the_run(
    document: dict[str, Any], base: dict[str, Any]
) -> None:
    own = different_leaves(document, base)
    joint = {path: leaf for path, leaf in (leaves(base) | own).items() if leaf != ABSENT}
    assert joint == leaves(document)
    assert all(leaves(base).get(path) != leaf for path, leaf in own.items())


@pytest.mark.parametrize(
    ("value", "leaf"),
    [
        (True, Leaf(None, "true")),
        (3, Leaf(3.0, None)),
        ("lars", Leaf(None, "lars")),
        ([1, {"a": 2}], Leaf(None, '[1, {"a": 2}]')),
        ("x" * 1000, Leaf(None, "x" * MAX_TEXT)),
    ],
)
def test_a_value_is_a_number_or_a_text(value: object, leaf: Leaf) -> None:
    assert leaves({"a": {"b": value, "c": None}}) == {"a.b": leaf}
