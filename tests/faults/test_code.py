"""An array whose code is a snapshot: the folder changes, jobs are requeued and fail, and every attempt has the tree."""

import sys
from hashlib import sha256
from pathlib import Path

import pytest

from bigbatch.client import Client
from bigbatch.snapshot.attach import attach_snapshot
from contract.lifecycle.state import State
from tests.testing.faults.on_fake_slurm import OnStandIn
from tests.testing.servers import wait_for
from tests.testing.snapshots import repository, write

pytestmark = [pytest.mark.flow, pytest.mark.long]
TASKS, AT_ONCE, FAILS, REQUEUED = 50, 4, 7, 0
# writes the hash of the tree at the start and at the end of each attempt; task 0 waits for the file `go`
PROGRAM = """
import os, sys, time
from hashlib import sha256
from pathlib import Path
folder, attempt, task = Path(os.environ["BIGBATCH_RUN_FOLDER"]), os.environ["BIGBATCH_ATTEMPT"], sys.argv[1]
def digest():
    names = sorted(str(path) for path in Path(".").rglob("*.py"))
    return sha256("".join(name + Path(name).read_text() for name in names).encode()).hexdigest()
with open(folder / "trees", "a") as file:
    print(attempt, digest(), file=file, flush=True)
    while task == "0" and not (folder / "go").exists():
        time.sleep(0.05)
    print(attempt, digest(), file=file, flush=True)
sys.exit(task == "7" and attempt == "1")
"""


def digest_of(folder: Path) -> str:
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py"))
    return sha256("".join(name + (folder / name).read_text() for name in names).encode()).hexdigest()


def test_fifty_tasks_a_requeue_and_a_retry_run_the_tree_of_the_submission(
    on: OnStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The faults: the folder is edited while tasks wait, Slurm requeues a task, and another task fails once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    project = repository(tmp_path / "project", {"program.py": "old = 1\n", "lib/old.py": "old = 1\n"})
    write(project, {"program.py": PROGRAM, "untracked.py": "untracked = 1\n"})
    wanted = digest_of(project)
    base = {
        "kind": "program",
        "command": [sys.executable, "program.py", "{n}"],
        "launcher": "plain",
        "parameters": {"n": 0},
        "resources": {"kind": "slurm", "partition": "gpu"},
        "retries": {"failure": 1, "backoff_s": 0},
    }
    spec = {"name": "code", "base": base, "axes": {"parameters.n": list(range(TASKS))}, "max_parallel": AT_ONCE}
    with Client(on.service.url, on.service.token) as client:
        document, _ = attach_snapshot(spec, project, client)
        created = client.create(document)
        folders = {run_id: Path(client.run(run_id).folder) for run_id in created.runs}
        first = folders[created.runs[REQUEUED]]
        wait_for("the first task", lambda: (first / "trees").exists() and bool((first / "trees").read_text()), 240)
        write(project, {"program.py": "raise SystemExit('the folder of later')\n", "lib/old.py": "edited = 1\n"})
        on.command("scontrol", "requeue", on.job_of(created.runs[REQUEUED]).full_id)
        wait_for("the next attempt", lambda: "2 " in (first / "trees").read_text(), 240)
        (first / "go").touch()
        wait_for("the end", lambda: {run.state for run in client.runs(created.id)} == {State.DONE}, 1200)
        attempts = [run.attempt for run in client.runs(created.id)]
    assert attempts == [2 if number in (REQUEUED, FAILS) else 1 for number in range(TASKS)]
    for number, run_id in enumerate(created.runs):
        lines = (folders[run_id] / "trees").read_text().splitlines()
        assert {line.split()[1] for line in lines} == {wanted}, number
        assert {line.split()[0] for line in lines} == {str(one) for one in range(1, attempts[number] + 1)}
