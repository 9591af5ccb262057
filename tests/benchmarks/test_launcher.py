"""The ranks that a benchmark starts."""

import atexit
import json
import os
from pathlib import Path

import pytest

from benchmarks import launcher
from benchmarks.launcher import lab_hosts, run_ranks
from lab.layout import Layout
from lab.state_folder import StateFolder


def test_a_rank_ends_without_the_end_of_its_interpreter() -> None:
    # forced here: an end of the interpreter that aborts, as gloo's threads sometimes make it
    assert run_ranks(__name__, [""], 1, {"answer": 3}) == {"answer": 3}


def main() -> None:
    """Print the task; the end of this interpreter would abort."""
    atexit.register(os.abort)
    print(json.dumps(json.loads(os.environ["TASK"])))


def test_a_benchmark_takes_its_hosts_from_the_running_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "LAB", tmp_path)
    with pytest.raises(ValueError, match=r"needs 1 hosts, and the lab in .* has 0"):
        lab_hosts(1)
    layout = Layout(gpu_hosts=2, knl_hosts=1)
    layout.save(StateFolder(tmp_path).layout)
    assert lab_hosts(3) == [host.name for host in layout.hosts]
    with pytest.raises(ValueError, match="needs 4 hosts"):
        lab_hosts(4)
