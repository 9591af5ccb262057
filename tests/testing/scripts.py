"""Training scripts of a test: Python processes with the light part of bigbatch alone, inside a run or outside."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def make_run_folder(path: Path) -> Path:
    """Create a run's folder as the scheduler does."""
    (path / "attempts").mkdir(parents=True)
    return path


def environment_of(folder: Path | None, *, attempt: int = 1, rank: int = 0, world: int = 1) -> dict[str, str]:
    """Return the environment of one rank's process; outside a run without a folder."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("BIGBATCH_", "SLURM_"))}
    given = own | {"PYTHONPATH": str(ROOT), "RANK": str(rank), "WORLD_SIZE": str(world)}
    if folder is not None:
        given |= {"BIGBATCH_RUN_FOLDER": str(folder), "BIGBATCH_ATTEMPT": str(attempt)}
    return given


def start_script(code: str, environment: dict[str, str], *, cwd: Path | None = None) -> subprocess.Popen[str]:
    """Start a script without any package but the standard library."""
    words = [sys.executable, "-S", "-c", code]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, env=environment, cwd=cwd, text=True, stdin=pipe, stdout=pipe, stderr=pipe)


def run_script(code: str, environment: dict[str, str], *, cwd: Path | None = None) -> tuple[str, str]:
    """Run a script to its end; return what it printed, and its errors."""
    with start_script(code, environment, cwd=cwd) as process:
        output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return output, errors
