"""The memory limit of a real Slurm: a lab of its own, whose cgroups limit each step to what its job has asked for."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import FailureKind
from lab.instance import NUMBER
from tests.testing.needs import require
from tests.testing.service import Service, running

pytestmark = [pytest.mark.slurm, pytest.mark.long]
CANNOT_RUN_HERE = 2
# needs 1.4 GB in its first rank; the second rank waits for it
PROGRAM = """
import os, time
if os.environ["RANK"] == "0":
    len(bytearray(1_400_000_000))
    open("allocated", "w").close()
while not os.path.exists("allocated"):
    time.sleep(0.1)
"""


@pytest.fixture
def limited_lab() -> Iterator[dict[str, str]]:
    """A lab beside the one of the other tests, under a number of its own; yields the environment of its commands."""
    number = {"BIGBATCH_LAB_NUMBER": str((NUMBER + 50) % 100)}
    environment = {name: value for name, value in os.environ.items() if name != "BIGBATCH_LAB"} | number
    lab = [sys.executable, "-m", "lab"]
    words = ["up", "--gpu-hosts", "1", "--knl-hosts", "0", "--limit-memory"]
    done = subprocess.run([*lab, *words], env=environment, capture_output=True, text=True)
    require(done.stderr.splitlines() if done.returncode == CANNOT_RUN_HERE else [])
    try:
        assert done.returncode == 0, done.stderr
        text = subprocess.run([*lab, "env"], env=environment, check=True, capture_output=True, text=True).stdout
        name, _, value = text.strip().removeprefix("export ").partition("=")
        yield {name: value}
    finally:
        subprocess.run([*lab, "down"], env=environment, check=True)
        assert not list(Path("/sys/fs/cgroup/memory").glob(f"slurm_*n{number['BIGBATCH_LAB_NUMBER']}"))


@pytest.fixture
def service(limited_lab: dict[str, str], tmp_path: Path) -> Iterator[Service]:
    with running(tmp_path / "home", {**limited_lab, "BIGBATCH_SLURM": "true"}) as service:
        yield service


def test_a_program_that_the_memory_limit_ends_gets_twice_the_memory(service: Service) -> None:
    """Forces the fault: the first rank needs more memory than its job has, and the kernel kills it."""
    base = {
        "kind": "program",
        "command": [sys.executable, "-c", PROGRAM],
        "resources": {"kind": "slurm", "partition": "gpu", "ranks_per_node": 2, "memory_gb": 1},
        "retries": {"out_of_memory": {"times": 2, "memory": "x2"}, "backoff_s": 0},
    }
    (run_id,) = service.post(json.dumps({"name": "hungry", "base": base}))
    run = service.wait_for_end(run_id, 300)
    assert (run["state"], run["attempt"]) == ("done", 2), service.story(run_id)
    assert run["attempts"][0]["cause"] == "out_of_memory"
    (record, *_) = RunFolder(Path(run["folder"])).read_rank_failures(1)
    assert (record.rank, record.kind) == (0, FailureKind.OUT_OF_MEMORY)
    assert "its memory limit was reached" in record.reason
    scripts = sorted((Path(run["folder"]) / "submission").glob("*.sh"))
    assert [line for path in scripts for line in path.read_text().splitlines() if "--mem=" in line] == [
        "#SBATCH --mem=1GB",
        "#SBATCH --mem=2GB",
    ]
