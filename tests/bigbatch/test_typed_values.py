"""Tests of the values that a user types after `--sweep NAME=`."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.program.placeholders import as_text
from bigbatch.sweeps.typed_values import kept_texts, read_typed_list

pytestmark = pytest.mark.ring("quick")


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("0.1,0.2", [0.1, 0.2]),
        ("1,32,-5", [1, 32, -5]),
        ("-0.00001,0.5", [-0.00001, 0.5]),
        ("1e-4,2.5e-3,1E5", [0.0001, 0.0025, 100000.0]),
        ("3.9,3.10", ["3.9", "3.10"]),
        ("0.10,0.20", ["0.10", "0.20"]),
        ("25921e05,abc", ["25921e05", "abc"]),
        ("25921e05", ["25921e05"]),
        ("1234567,abc1234", ["1234567", "abc1234"]),
        ("08,09", ["08", "09"]),
        ("1_000,+1,-0", ["1_000", "+1", "-0"]),
        ("True,False", ["True", "False"]),
        ("true,false,null", [True, False, None]),
        ("NaN,Infinity,1e999", ["NaN", "Infinity", "1e999"]),
        ("sgd, adam", ["sgd", "adam"]),
        ("[1,2],[3,4]", [[1, 2], [3, 4]]),
        ("[[1,2],[3,4]]", [[1, 2], [3, 4]]),
        ("[0.1,0.2]", [0.1, 0.2]),
        ("[3.9,3.10],[3.11]", ["[3.9,3.10]", "[3.11]"]),
        ('{"a":[1,2]},{"b":"x,]"}', [{"a": [1, 2]}, {"b": "x,]"}]),
        ("torus(2,4),ring", ["torus(2,4)", "ring"]),
        ("\"a,b\",'c,d',e", ["a,b", "c,d", "e"]),
        ('"1","2"', ["1", "2"]),
        ("don't,can't", ["don't", "can't"]),
        ("a,,b", ["a", "", "b"]),
        ("[]", [[]]),
        ("", [""]),
    ],
)
def test_values_are_numbers_only_where_nothing_is_lost(typed: str, values: list[Any]) -> None:
    found = read_typed_list(typed)
    assert (found, [type(one) for one in found]) == (values, [type(one) for one in values])


NO_RANGES = st.text("0123456789eE+-._abTrue", max_size=8).filter(lambda word: ".." not in word)


@settings(max_examples=200, deadline=None)
@given(st.lists(NO_RANGES, min_size=1, max_size=3))
def test_each_value_reaches_the_command_as_typed_or_as_an_equal_number(words: list[str]) -> None:
    values = read_typed_list(",".join(words))
    for word, value in zip(words, values, strict=True):
        assert as_text(value) == word or ("e" in word.lower() and value == float(word))


@given(st.lists(st.lists(st.integers() | st.text("ab,]['"), max_size=3), min_size=2, max_size=3))
@settings(max_examples=50, deadline=None)
def test_lists_are_separated_outside_their_brackets(lists: list[list[Any]]) -> None:
    assert read_typed_list(",".join(json.dumps(one) for one in lists)) == lists


@pytest.mark.parametrize("typed", ["[1,2", "a(b,c", '"a,b', "'a,b", '{"a": 1'])
def test_a_bracket_or_quote_without_its_end_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match="without its end"):
        read_typed_list(typed)


@pytest.mark.parametrize(
    "typed",
    ["1e-3..1e-1", "log:1e-3..1e-1", "1..9", "0.1...0.9", "0:1:0.1", "1,2..4", "range(1,5)", "interval(0,1)", "[1..3]"],
)
def test_a_range_is_refused_with_what_to_write(typed: str) -> None:
    with pytest.raises(ValueError, match="would be one text, because a sweep has no ranges: list the values"):
        read_typed_list(typed)


@pytest.mark.parametrize("typed", ['"1..9"', "'range(1,5)'", "v1..2", "../a..b", "12:30", "1.2.3", "torus(2,4)"])
def test_what_is_quoted_or_no_range_stays_a_text(typed: str) -> None:
    assert read_typed_list(typed) == [typed.strip("'\"")]


def test_numbers_that_stay_texts_are_named() -> None:
    assert kept_texts(["0.90", "0.95"]) == ["0.90", "0.95"]
    assert not kept_texts(["0.90", "none"])
    assert not kept_texts([0.9])
