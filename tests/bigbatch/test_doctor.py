"""`bigbatch doctor` on a machine without Slurm, and on the lab."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from sqlalchemy import text

from bigbatch.client import Client
from bigbatch.errors import ApiError
from contract.api.problem import Problem
from contract.api.service import Readiness
from contract.api.site_check import passed_check
from migrations.commands import upgrade
from store.session import engine_for
from tests.testing.command import Call, Site


@pytest.mark.ring("all")
def test_on_a_laptop_it_checks_what_is_there_and_is_content(client: Client, call: Call, tmp_path: Path) -> None:
    upgrade(f"sqlite:///{tmp_path / 'home' / 'bigbatch.db'}")
    os.environ["BIGBATCH_SLURM"] = "false"
    try:
        lines = call("doctor")
        answer = json.loads(call("doctor", "--json").out)
    finally:
        del os.environ["BIGBATCH_SLURM"]
    assert lines.code == 0
    assert lines.out.splitlines()[-1].startswith("0 errors")
    assert "runs can use this machine only" in lines.out
    assert_whole(answer)
    found = {(check["area"], check["name"]): check["grade"] for check in answer}
    assert found["database", "database"] == found["database", "tables"] == found["broker", "broker"] == "ok"


@pytest.mark.ring("all")
def test_what_is_in_the_way_ends_it_with_1(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the runs cannot be made: a file is in its place."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("BIGBATCH_RUNS", str(tmp_path / "file" / "runs"))
    monkeypatch.setenv("BIGBATCH_SLURM", "false")
    lines = call("doctor")
    assert lines.code == 1
    assert "fix: set BIGBATCH_RUNS" in lines.out


def test_a_service_that_refuses_the_token_is_not_well(site: Site, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readiness is for everyone; every other request of this user would be refused."""
    monkeypatch.setattr("bigbatch.commands.doctor._scheduler_checks", lambda _: iter(()))
    monkeypatch.setattr(Client, "ready", lambda _: readiness(ready=True))
    monkeypatch.setenv("BIGBATCH_URL", site.url)
    (check,) = json.loads(call("doctor", "--json").out)
    assert (check["grade"], "token is missing or wrong" in check["found"]) == ("warning", True)


AWAY = Problem(type="about:blank", title="", status=503, detail="it is away", code="database_unavailable")


def readiness(*, ready: bool, database: str = "ok") -> Readiness:
    return Readiness(ready=ready, database=database, scheduler="has not reported yet", scheduler_seen_at=None)


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("answer", "grade", "advice"),
    [
        (readiness(ready=True), "ok", ""),
        (readiness(ready=False), "warning", "start both with bigbatch up"),
        (readiness(ready=False, database="no such table"), "warning", "run python -m migrations upgrade"),
        (ApiError(503, AWAY), "warning", "set BIGBATCH_URL and"),
        (None, "note", "start the service with bigbatch up"),
    ],
)
def test_what_it_says_of_tables_and_service_has_what_to_set(
    answer: Readiness | ApiError | None,
    grade: str,
    advice: str,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """What the scheduler's part finds is left away: a database that answers, and has no tables."""
    answers = passed_check("database", "database", "it answers", "what runs do can be kept and shown")
    monkeypatch.setattr("bigbatch.commands.doctor._scheduler_checks", lambda _: iter([answers]))
    monkeypatch.setenv("BIGBATCH_URL", "http://127.0.0.1:1")
    (tmp_path / "home").mkdir()

    def ready(_: Client) -> Readiness:
        if isinstance(answer, ApiError):
            raise answer
        assert answer
        return answer

    if answer:
        monkeypatch.setattr(Client, "ready", ready)
        monkeypatch.setattr(Client, "clusters", lambda _: [])
    checks = {check["name"]: check for check in json.loads(call("doctor", "--json").out)}
    assert (checks["tables"]["grade"], checks["tables"]["advice"]) == ("error", "run python -m migrations upgrade")
    assert checks["service"]["grade"] == grade
    assert checks["service"]["advice"].startswith(advice)
    assert_whole(checks.values())


def assert_whole(checks: Iterable[dict[str, str]]) -> None:
    """Each line says what it means, and each that is amiss what to set."""
    for check in checks:
        assert check["means"], check
        assert bool(check["advice"]) is (check["grade"] != "ok"), check


@pytest.mark.slurm
def test_on_the_lab_a_compute_node_answers_and_short_kill_waits_are_seen(lab: dict[str, str], tmp_path: Path) -> None:
    surroundings = {**os.environ, **lab, "BIGBATCH_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "bigbatch.cli", "doctor", "--json", "--partition", "knl"]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=300)
    checks = {(check["area"], check["name"]): check for check in json.loads(done.stdout)}
    assert done.returncode == 0, done.stdout + done.stderr
    assert_whole(checks.values())
    assert checks["compute node", "job"]["found"].rpartition(" ")[2].startswith("knl")
    for name in ("folder", "python", "delay", "clock", "torch"):
        assert checks["compute node", name]["grade"] == "ok", checks["compute node", name]
    assert checks["slurm", "sacct"]["grade"] == "ok"
    assert checks["slurm", "partition gpu"]["grade"] == "warning"
    assert not list((tmp_path / "runs").iterdir())


@pytest.mark.ring("all")
def test_wrong_addresses_of_database_and_broker_are_lines_of_it(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGBATCH_SLURM", "false")
    monkeypatch.setenv("BIGBATCH_DATABASE", "postgresql://ada:5ecret@127.0.0.1:1/x")
    monkeypatch.setenv("BIGBATCH_BROKER", "redis://:5ecret@127.0.0.1:1/0")
    lines = call("doctor")
    assert lines.code == 1
    assert "the database postgresql://ada:***@127.0.0.1:1/x does not answer" in lines.out
    assert "the broker redis://:***@127.0.0.1:1/0 does not answer" in lines.out
    assert "5ecret" not in lines.out + lines.err


@pytest.mark.ring("all")
def test_tables_of_another_version_need_that_version(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'home' / 'bigbatch.db'}"
    upgrade(url)
    monkeypatch.setenv("BIGBATCH_SLURM", "false")
    for revision, advice in (
        ("9999", "install the newer version of Bigbatch that made them"),
        ("0040", "start the database once with the version of commit 9ce4c2b3"),
    ):
        with engine_for(url).begin() as connection:
            connection.execute(text("update alembic_version set version_num = :at"), {"at": revision})
        checks = {check["name"]: check for check in json.loads(call("doctor", "--json").out)}
        assert checks["tables"]["advice"] == advice
        assert checks["tables"]["found"] == f"revision {revision} instead of 0041"
    for told, advice in (
        ("the database is of a newer version of Bigbatch: ...", "install the newer version"),
        (
            "the database is of an older version of Bigbatch: ...: start the database once ...",
            "start the database once ...",
        ),
        ("the database is read-only (...)", "make the service's database answer and take changes"),
    ):
        monkeypatch.setattr(Client, "ready", lambda _, told=told: readiness(ready=False, database=told))
        checks = {check["name"]: check for check in json.loads(call("doctor", "--json").out)}
        assert checks["service"]["advice"].startswith(advice)
