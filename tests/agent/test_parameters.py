"""Tests of a program's parameters: as words of its command, and as the files of its run folder."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.program.parameters import to_yaml, write_files
from agent.program.placeholders import as_text
from contract.yaml_reader import read_document
from tests.contract.test_yaml_writer import documents, typed

pytestmark = pytest.mark.ring("quick")


@settings(max_examples=50, deadline=None)
@given(documents)
def test_parameters_are_read_as_the_same_values_by_readers_of_both_versions_of_yaml(document: dict[str, Any]) -> None:
    written = to_yaml(document)
    assert typed(read_document(written)) == typed(yaml.safe_load(written)) == typed(document)


@pytest.mark.parametrize("name", ["on", "yes", "null", "y", "n", "lr"])
@pytest.mark.parametrize("value", ["08", "a\x85b\u2028c\x7f\ufeff", 1e-05, 1.0, 1, 2**63, {"on": ["no"]}])
def test_the_files_have_the_names_and_values_of_the_spec(tmp_path: Path, name: str, value: object) -> None:
    parameters = {name: value}
    write_files(parameters, tmp_path)
    assert json.loads((tmp_path / "parameters.json").read_text()) == parameters
    assert typed(yaml.safe_load((tmp_path / "parameters.yaml").read_text())) == typed(parameters)


@settings(max_examples=100, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_argparse_gets_every_fraction_as_the_same_number(number: float) -> None:
    parser = ArgumentParser()
    parser.add_argument("--lr", type=float)
    word = as_text(number)
    assert repr(parser.parse_args(["--lr", word]).lr) == repr(number)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        *((-0.00001, "-0.00001"), (1e-05, "0.00001"), (1e20, "100000000000000000000.0"), (1.0, "1.0"), (0.1, "0.1")),
        *((1, "1"), (2**70, str(2**70)), (True, "true"), (None, "null"), ("1e-05", "1e-05"), ([1e-05], "[1e-05]")),
        *((float("nan"), "NaN"), (float("-inf"), "-Infinity")),
    ],
)
def test_a_value_is_one_word_of_the_command(value: object, word: str) -> None:
    assert as_text(value) == word
