"""The stages of each ring, in order, with their time limits."""

import os
import sys
from pathlib import Path

from tests.gate.gate import Step
from tests.gate.stages import PytestStage, Stage, VitestStage

# three processes on two cores: tests wait for files, ports and clocks as well. What shares the lab, the browser or a
# file of tests on real servers stays in one process (tests/conftest.py)
WORKERS = os.environ.get("WORKERS", "3")
PYTHON = Path(".venv") / "bin" / "python"
SIDE_BY_SIDE = ("-n", WORKERS, "--dist", "loadgroup", "--no-loadscope-reorder")


def steps(ring: str) -> list[Step]:
    """Return what `make test` (gate) or `make test-all` (all) carries out."""
    installation = [
        Stage("packages", (sys.executable, "tests/testing/packages.py"), 900),
        Stage("installation", ("make", "--silent", ".make/dev", ".make/web"), 1500),
    ]
    python = [Stage("checks of Python", ("make", "--silent", "check-python"), 600)]
    dashboard = [
        Stage("dashboard", ("make", "--silent", "web/dist/index.html"), 300),
        Stage("checks of the dashboard", ("make", "--silent", "check-web"), 600),
        VitestStage("tests of the dashboard", ("npx", "vitest", "run"), 900, folder="web"),
    ]
    return [[installation], [python, dashboard], *([[stage]] for stage in _tests(ring))]


def _tests(ring: str) -> list[Stage]:
    pytest = (str(PYTHON), "-m", "pytest", "-q", f"--ring={ring}")
    if ring == "gate":
        return [PytestStage("tests", (*pytest, "--timeout=180"), 1200, side_by_side=SIDE_BY_SIDE)]
    return [
        PytestStage("tests", pytest, 6000, side_by_side=(*SIDE_BY_SIDE, "-m", "not long")),
        PytestStage("long tests", pytest, 6000, side_by_side=(*SIDE_BY_SIDE, "-m", "long")),
    ]
