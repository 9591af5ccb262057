"""The PyTorch of this machine, as the doctor finds it."""

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from contract.api.site_check import Grade
from scheduler.doctor.torch import check_torch_here


def test_the_torch_of_this_python_is_found_by_the_probe_of_compute_nodes() -> None:
    check = check_torch_here()
    assert (check.grade, check.found.startswith(version("torch").split("+")[0])) == (Grade.OK, True)


def test_a_python_without_the_probe_is_named_by_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "python"
    broken.write_text('#!/bin/sh\necho "No module named trainers" >&2; exit 1\n')
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    check = check_torch_here()
    assert (check.grade, check.found) == (Grade.NOTE, "No module named trainers")
    assert check.advice == "run pip install 'bigbatch[trainer]' in the service's environment"
