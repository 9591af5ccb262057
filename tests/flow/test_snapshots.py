"""Code snapshots on real parts: what was submitted runs, whatever happens to the folder, and can be repeated."""

import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from bigbatch.client import Client
from bigbatch.snapshot.attach import attach_snapshot
from tests.testing.service import Service
from tests.testing.snapshots import git, repository, write

pytestmark = pytest.mark.flow
TASKS = 10
TRAIN = """
import os, sys
from hashlib import sha256
from pathlib import Path
import numpy
import bigbatch
import helper

names = sorted(str(path) for path in Path(".").rglob("*.py"))
digest = sha256("".join(f"{name}\\n{Path(name).read_text()}" for name in names).encode()).hexdigest()
print("tree", digest, flush=True)
if os.environ["BIGBATCH_ATTEMPT"] == "1" and sys.argv[1] == "3":
    sys.exit(1)
random = numpy.random.default_rng(int(sys.argv[1]))
data, weights = random.normal(size=(64, 8)), numpy.zeros(8)
wanted = data @ random.normal(size=8)
for step in range(1, 21):
    error = data @ weights - wanted
    weights -= helper.RATE * data.T @ error / len(data)
    bigbatch.log(step=step, loss=float((error**2).mean()))
"""
SPEC = {
    "name": "snapshots",
    "base": {
        "kind": "program",
        "command": "python train.py {seed}",
        "launcher": "plain",
        "parameters": {"seed": 0},
        "retries": {"failure": 1, "backoff_s": 0},
    },
    "axes": {"parameters.seed": list(range(TASKS))},
}


def digest_of(folder: Path) -> str:
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py"))
    return sha256("".join(f"{name}\n{(folder / name).read_text()}" for name in names).encode()).hexdigest()


def test_every_attempt_runs_the_tree_of_the_submission_and_a_rerun_gives_the_same_losses(
    embedded: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Committed, staged, changed and untracked files; the folder changes while runs wait, and then is gone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    project = repository(tmp_path / "project", {"train.py": "old\n", "helper.py": "RATE = 0.5\n", "gone.py": "old\n"})
    write(project, {"staged.py": "staged = 1\n"})
    git(project, "add", "staged.py")
    write(project, {"train.py": TRAIN, "lib/untracked.py": "untracked = 1\n", "helper.py": "RATE = 0.1\n"})
    (project / "gone.py").unlink()
    wanted = digest_of(project)
    with Client(embedded.url, embedded.token) as client:
        document, taken = attach_snapshot(SPEC, project, client)
        assert taken is not None
        assert taken.source is not None
        assert (taken.source.staged, taken.source.unstaged, taken.source.untracked) == (1, 3, 1)
        created = client.create(document)
        write(project, {"helper.py": "RATE = 9.9\n", "train.py": "raise SystemExit('the folder of later')\n"})
        git(project, "add", "-A")
        shutil.rmtree(project / "lib")
        runs = [embedded.wait_for_end(run_id) for run_id in created.runs]
        assert [run["state"] for run in runs] == ["done"] * TASKS, embedded.story(created.runs[0])
        assert [run["attempt"] for run in runs] == [2 if seed == 3 else 1 for seed in range(TASKS)]
        for run in runs:
            found = [line for line in client.log(run["id"]).text.splitlines() if line.startswith("tree ")]
            assert found == [f"tree {wanted}"] * run["attempt"]
        shutil.rmtree(project)
        again = client.rerun(created.runs[5])
        assert embedded.wait_for_end(again.runs[0])["state"] == "done", embedded.story(again.runs[0])
        first, second = (client.points(run_id, ["loss"]).series["loss"] for run_id in (created.runs[5], again.runs[0]))
        assert first.steps == list(range(1, 21))
        assert first == second
        other = client.points(created.runs[6], ["loss"]).series["loss"]
        assert other != first
        environment = client.environment(again.runs[0])
        assert environment is not None
        assert environment.packages["numpy"]
        differences = client.differences(created.runs[5], again.runs[0])
        assert (differences.spec, differences.code_note) == ([], "both runs have the same code")
        assert [one.path for one in differences.environment] == []


def test_a_commit_gives_the_same_snapshot_in_a_fresh_clone(
    embedded: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    project = repository(tmp_path / "project", {"train.py": TRAIN, "helper.py": "RATE = 0.1\n"})
    git(tmp_path, "clone", "-q", str(project), "clone")
    with Client(embedded.url, embedded.token) as client:
        assert client.snapshot(project).hash == client.snapshot(tmp_path / "clone").hash
