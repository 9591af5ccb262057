"""Lightning's own requeue is switched off in a run and left alone outside one; modules here have Lightning's names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bigbatch.injected.lightning_requeue import MESSAGE
from tests.testing.program_ranks import ROOT

MODULE = """
class SLURMEnvironment:
    def __init__(self, auto_requeue=True, requeue_signal=None):
        self.auto_requeue, self.requeue_signal = auto_requeue, requeue_signal
"""


def printed(tmp_path: Path, package: str, arguments: str, **variables: str) -> tuple[str, str]:
    """Run a program that prints `auto_requeue` of an environment with these arguments; return its two outputs."""
    folder = tmp_path.joinpath(*package.split("."))
    folder.mkdir(parents=True)
    for part in [folder, *folder.parents][: package.count(".") + 1]:
        (part / "__init__.py").touch()
    (folder / "slurm.py").write_text(MODULE)
    program = f"from {package}.slurm import SLURMEnvironment as E; e = E({arguments}); print(e.auto_requeue)"
    injected = [str(ROOT / "bigbatch" / "injected"), str(ROOT), str(tmp_path)]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(injected), **variables}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr.strip()


def in_run(tmp_path: Path, rank: int = 0) -> dict[str, str]:
    return {"BIGBATCH_RUN_FOLDER": str(tmp_path), "BIGBATCH_ATTEMPT": "1", "RANK": str(rank)}


@pytest.mark.parametrize("top", ["lightning.fabric", "lightning_fabric"])
def test_the_requeue_is_switched_off_and_rank_0_says_so(tmp_path: Path, top: str) -> None:
    package = f"{top}.plugins.environments"
    assert printed(tmp_path, package, "requeue_signal=12", **in_run(tmp_path)) == ("False", MESSAGE)


def test_other_ranks_say_nothing(tmp_path: Path) -> None:
    package = "lightning.fabric.plugins.environments"
    assert printed(tmp_path, package, "True", **in_run(tmp_path, rank=1)) == ("False", "")


def test_a_program_that_has_switched_it_off_hears_nothing(tmp_path: Path) -> None:
    package = "lightning.fabric.plugins.environments"
    assert printed(tmp_path, package, "auto_requeue=False", **in_run(tmp_path)) == ("False", "")


def test_outside_a_run_it_stays(tmp_path: Path) -> None:
    assert printed(tmp_path, "lightning.fabric.plugins.environments", "") == ("True", "")
