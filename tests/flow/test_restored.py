"""A real backup of a service, an experiment after it, and a restore: jobs that nobody owns, and ids."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.flow.test_restart import PARTS
from tests.testing.servers import wait_for
from tests.testing.service import Service, running

pytestmark = pytest.mark.flow
SETTINGS = {"BIGBATCH_SLURM": "false", "BIGBATCH_LOCAL_RANKS": "4"}
SPEC = """
name: {name}
base:
  kind: program
  command: 'n=0; while [ ! -e {go} ]; do n=$((n+1)); echo "loss=1.0 step=$n"; sleep 0.1; done'
  resources: {{kind: local, ranks_per_node: 1}}
"""


def bigbatch(service: Service, *words: str) -> str:
    command = [sys.executable, "-m", "bigbatch.cli", *words]
    done = subprocess.run(command, env=service.environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def runs(service: Service, run_id: int) -> None:
    wait_for(f"run {run_id}", lambda: service.get(f"/runs/{run_id}")["state"] == "running", patience_s=120)


def kill_all(service: Service) -> None:
    for part in PARTS:
        service.kill(part)


def kill_jobs(pids: list[int]) -> None:
    for pid in pids:
        if psutil.pid_exists(pid):
            os.killpg(pid, signal.SIGKILL)


def pid_of(service: Service, run_id: int) -> int:
    return int(service.get(f"/runs/{run_id}")["job_id"].rpartition(":")[2])


def test_a_run_that_was_live_at_the_backup_goes_on_in_the_restored_home(tmp_path: Path) -> None:
    """The first service dies by kill -9 and its job goes on, in the folder of before."""
    go = tmp_path / "go"
    with running(tmp_path / "old", SETTINGS) as old:
        (run_id,) = old.post(SPEC.format(name="live", go=go))
        runs(old, run_id)
        bigbatch(old, "backup", str(tmp_path / "backup"), "--home", str(tmp_path / "old"))
        (younger,) = old.post(SPEC.format(name="younger", go=go))
        runs(old, younger)
        pids = [pid_of(old, run_id), pid_of(old, younger)]
        kill_all(old)
        try:
            bigbatch(old, "restore", str(tmp_path / "backup"), "--home", str(tmp_path / "new"))
            with running(tmp_path / "new", SETTINGS) as new:
                wait_for("attempt 2", lambda: new.get(f"/runs/{run_id}")["attempt"] == 2, patience_s=200)
                assert not psutil.pid_exists(pids[0]), "its job of before was ended first"
                assert psutil.pid_exists(pids[1]), "no job is ended that nobody asked to end"
                named = bigbatch(new, "orphans")
                assert f":{pids[1]}" in named
                assert named.count("\n") == 1
                assert "folder is not here" in bigbatch(new, "orphans", "--adopt")
                assert "is being ended" in bigbatch(new, "orphans", "--cancel")
                wait_for("the end of the job", lambda: not psutil.pid_exists(pids[1]))
                (fresh,) = new.post(SPEC.format(name="fresh", go=go))
                assert fresh > younger
                assert new.get(f"/runs/{fresh}")["experiment_id"] > 1000
                go.touch()
                run = new.wait_for_end(run_id)
                assert (run["state"], run["attempts"][0]["cause"]) == ("done", "lost"), new.story(run_id)
        finally:
            kill_jobs(pids)


def test_a_younger_run_is_adopted_when_the_database_alone_was_put_back(tmp_path: Path) -> None:
    go, home = tmp_path / "go", tmp_path / "home"
    with running(home, SETTINGS) as service:
        (first,) = service.post(SPEC.format(name="first", go=go))
        runs(service, first)
        bigbatch(service, "backup", str(tmp_path / "backup"), "--home", str(home))
        (younger,) = service.post(SPEC.format(name="younger", go=go))
        runs(service, younger)
        time.sleep(6.0)  # a mark
        kill_all(service)
        for path in home.glob("bigbatch.db*"):
            path.unlink()
        (home / "bigbatch.db").write_bytes((tmp_path / "backup" / "bigbatch.db").read_bytes())
        command = [sys.executable, "-m", "migrations", "upgrade"]
        done = subprocess.run(command, env=service.environment, capture_output=True, text=True, check=True)
        assert "older than what its service did last" in done.stderr
        for part in PARTS:
            service.start(part)
        service.wait_for_api()
        wait_for("the log", lambda: "bigbatch orphans" in (home / "worker.log").read_text(), patience_s=60)
        assert "are adopted as experiment 2" in bigbatch(service, "orphans", "--adopt")
        assert "belongs to a run" in bigbatch(service, "orphans")
        runs(service, younger)
        go.touch()
        assert [service.wait_for_end(one)["state"] for one in (first, younger)] == ["done", "done"]
        assert service.get(f"/runs/{younger}")["experiment_id"] == 2
        (fresh,) = service.post(SPEC.format(name="fresh", go=go))
        assert service.get(f"/runs/{fresh}")["experiment_id"] > 2
