"""The dashboard as tests see it: its service, its browser, and how far a curve may be behind its run."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine

from store.session import transaction
from store.tables.runs import Run
from tests.testing.seed_dashboard import grow
from tests.testing.servers import answers, free_port, wait_for

ROOT = Path(__file__).parents[2]
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]

LATEST_S = 3.0  # how far a curve may be behind its trainer
TRIES = 12  # a machine may be somebody else's for a while: in one of so many it must hold all the time

# the newest step of the loss chart, as its crosshair tells it
NEWEST = "() => Number(document.querySelector('[role=slider][aria-label^=\"Loss\"]')?.getAttribute('aria-valuemax'))"


@dataclass(frozen=True)
class Dashboard:
    """The address of the service, the rows in it, and a hand on a run that trains."""

    url: str
    ids: dict[str, int]
    engine: Engine
    token: str
    runs: Path  # the folder of the run folders

    def grow(self, run_id: int, steps: int) -> int:
        """Let a run take `steps` more steps; return the last one."""
        with transaction(self.engine) as db:
            run = db.get_one(Run, run_id)
            grow(db, run, run.step + steps)
            return run.step


def find_chromium() -> str | None:
    """Return the path of the installed Chromium; None without one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def serving_api(home: Path, port: int | None = None, **settings: str) -> Iterator[str]:
    """Run the API on `home` as a separate process, without `port` on a free one; yield its address.

    `settings` are further environment variables.
    """
    url = f"http://localhost:{(port := port or free_port())}"
    own = {"BIGBATCH_HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    environment = {**os.environ, **own, "BIGBATCH_DATABASE": "", "BIGBATCH_TOKEN": "", **settings}
    process = subprocess.Popen([sys.executable, "-m", "api", "--port", str(port)], cwd=ROOT, env=environment)
    try:
        wait_for("the service", lambda: answers(f"{url}/api/v1/health"))
        yield url
    finally:
        process.terminate()
        process.wait(60)
