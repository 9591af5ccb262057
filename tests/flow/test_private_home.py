"""The home folder of a real service: other users have no permission, and local runs use run folders elsewhere."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.flow.test_flow import SPEC
from tests.testing.service import running

pytestmark = pytest.mark.flow


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Yield a home as an earlier version left it: every user can read it, under the usual umask."""
    before = os.umask(0o022)
    home = tmp_path / "home"
    (home / "broker").mkdir(parents=True)
    for name in ("bigbatch.db", "bigbatch.db-wal", "bigbatch.db-shm"):
        (home / name).touch()
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield home
    os.umask(before)


def readable(home: Path) -> list[str]:
    """Return the database's and the broker's files and their folders that other users may read."""
    found = []
    for path in [home, *home.glob("bigbatch.db*"), *home.glob("broker*"), *home.glob("broker*/*")]:
        with suppress(FileNotFoundError):  # the worker has taken the message meanwhile
            found += [path.name] if path.stat().st_mode & 0o077 else []
    return found


def test_a_home_is_closed_and_run_folders_elsewhere_stay_open(home: Path, tmp_path: Path) -> None:
    settings = {"BIGBATCH_SLURM": "false", "BIGBATCH_RUNS": str(tmp_path / "runs")}
    with running(home, settings) as service:
        assert {"bigbatch.db", "bigbatch.db-wal", "bigbatch.db-shm"} <= {path.name for path in home.iterdir()}
        assert list((home / "broker-control").iterdir())
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert readable(home) == []
        (run_id,) = service.post(SPEC.format(resources="{kind: local, ranks_per_node: 2}"))
        assert service.wait_for_end(run_id)["state"] == "done", service.story(run_id)
    folders = [tmp_path / "runs", *(tmp_path / "runs").iterdir()]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o755] * len(folders)
    assert readable(home) == []
