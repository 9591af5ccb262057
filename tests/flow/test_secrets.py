"""A job on this machine finds no secret of the service: in no process, no environment and no file."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from bigbatch.client import Client
from bigbatch.errors import BigbatchError
from tests.testing import servers
from tests.testing.databases import new_database
from tests.testing.servers import free_port, wait_for
from tests.testing.service import ENDED, running

pytestmark = [
    pytest.mark.flow,
    pytest.mark.postgres,
    pytest.mark.redis,
    pytest.mark.skipif(sys.platform != "linux", reason="the kernel must hide processes"),
]
ROOT = Path(__file__).parents[2]
NAMES = ("token", "database", "broker", "slurm", "store")
TOKEN, DATABASE, BROKER, SLURM, STORE = (f"{name}-{token_hex(16)}" for name in NAMES)
SECRETS = [TOKEN, DATABASE, BROKER, SLURM, STORE]
# root would see hidden processes; without capabilities root is a user like any other, and so are its jobs
LIKE_A_USER = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
STARTUP = b"\0\3\0\0user\0bigbatch\0database\0postgres\0\0"  # of PostgreSQL's protocol 3.0
QUESTIONS = {"postgresql": (len(STARTUP) + 4).to_bytes(4) + STARTUP, "redis": b"PING\r\n"}
SCRAM = (10).to_bytes(4)  # PostgreSQL's request for a password
ORDINARY = token_hex(8)  # a word that the job must find, so that the search is known to work


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Yield settings with secrets in them: the servers refuse connections without their passwords."""
    with servers.postgres_process(DATABASE) as postgres, servers.redis_process(tmp_path, BROKER) as redis:
        yield {
            "BIGBATCH_DATABASE": new_database(postgres.url, f"secrets{token_hex(4)}"),
            "BIGBATCH_BROKER": redis.url,
            "BIGBATCH_RUNS": str(tmp_path / "runs"),
            "BIGBATCH_SLURM": "false",
            "SLURM_JWT": SLURM,
            "BIGBATCH_ARTIFACT_STORE": "s3://bucket",
            "BIGBATCH_ARTIFACT_STORE_OPTIONS": f'{{"key": "me", "secret": "{STORE}"}}',
            "PYTHONPATH": str(ROOT),
            "ORDINARY": ORDINARY,
        }


def spec(folder: Path, search: dict[str, Any]) -> dict[str, Any]:
    """Return an experiment whose net searches all processes, and the files in `folder`."""
    options = {"report": str(folder / "report.json"), "search": search}
    base = {
        "model": {"kind": "import", "function": "tests.testing.spy:network", "options": options},
        "optimizer": {"kind": "sgd"},
        "schedule": {"kind": "constant", "rate": 0.05},
        "batch": 512,
        "epochs": 1,
        "resources": {"kind": "local", "ranks_per_node": 1},
    }
    return {"name": "spy", "base": base}


def search(client: Client, folder: Path, words: Sequence[str], *servers: str) -> dict[str, Any]:
    """Run the search for the words as a job, which also asks the servers of these URLs; return its report."""
    addresses = [urlsplit(url) for url in servers]
    asked = {
        "words": [word.encode().hex() for word in (*words, ORDINARY)],
        "folders": [str(folder)],
        "servers": [[one.hostname, one.port, QUESTIONS[one.scheme].hex()] for one in addresses],
    }
    (run_id,) = client.create(spec(folder, asked)).runs
    wait_for("the end of the job", lambda: client.run(run_id).state in ENDED, 240)
    assert client.run(run_id).state == "done", client.log(run_id)
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    assert report["environ"] in report["places"][ORDINARY.encode().hex()], "the search finds nothing"
    return report


def search_as_job(client: Client, folder: Path, settings: dict[str, str]) -> dict[str, Any]:
    return search(client, folder, SECRETS, settings["BIGBATCH_DATABASE"], settings["BIGBATCH_BROKER"])


def check(report: dict[str, Any], processes: list[psutil.Process]) -> None:
    """Assert that no secret was found, that these processes are hidden, and that the servers want a password."""
    for secret in SECRETS:
        assert report["places"][secret.encode().hex()] == [], secret.partition("-")[0]
    for process in processes:
        assert {f"/proc/{process.pid}/{name}" for name in ("environ", "mem", "fd", "maps")} <= set(report["hidden"])
    postgres, redis = (bytes.fromhex(answer) for answer in report["answers"])
    assert (postgres[:1], postgres[5:9]) == (b"R", SCRAM)
    assert redis.startswith(b"-NOAUTH")


@contextmanager
def up(folder: Path, settings: dict[str, str]) -> Iterator[tuple[Client, psutil.Process]]:
    """Run `bigbatch up`; yield a client and the process."""
    port, inherited = free_port(), {k: v for k, v in os.environ.items() if not k.startswith("BIGBATCH_")}
    environment = {**inherited, **settings, "BIGBATCH_HOME": str(folder / "home"), "BIGBATCH_TOKEN": TOKEN}
    command = [*LIKE_A_USER, sys.executable, "-m", "bigbatch.cli", "up", "--port", str(port)]
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, cwd=folder)

    def is_ready(client: Client) -> bool:
        assert process.poll() is None, (folder / "output").read_text()
        try:
            return client.ready().ready
        except BigbatchError:
            return False

    try:
        with Client(f"http://127.0.0.1:{port}", TOKEN) as client:
            wait_for("the service", lambda: is_ready(client))
            yield client, psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(150)


def test_a_job_of_bigbatch_up_finds_no_secret(tmp_path: Path, settings: dict[str, str]) -> None:
    with up(tmp_path, settings) as (client, process):
        parts = process.children()
        assert len(parts) == 3
        check(search_as_job(client, tmp_path, settings), [process, *parts])
        for part in parts if os.geteuid() == 0 else []:  # root reads them
            values = " ".join(part.environ().values())
            assert not [secret for secret in (TOKEN, DATABASE, BROKER, STORE) if secret in values], (
                "no secret came this way"
            )
            assert (SLURM in values) == ("worker" in part.cmdline())


def test_a_job_finds_no_secret_of_processes_that_were_started_by_hand(tmp_path: Path, settings: dict[str, str]) -> None:
    with (
        running(tmp_path / "home", {**settings, "BIGBATCH_TOKEN": TOKEN}, before=LIKE_A_USER) as service,
        Client(f"http://127.0.0.1:{service.port}", TOKEN) as client,
    ):
        report = search_as_job(client, tmp_path, settings)
        check(report, [psutil.Process(process.pid) for process in service.processes.values()])


def test_a_job_of_the_service_s_own_account_reads_the_files_of_the_default_token_and_no_other_place(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    """The limit of the default: the kernel opens the user's files to the user's jobs, so docs/settings.md says so."""
    with running(tmp_path / "home", settings, before=LIKE_A_USER) as service:
        token = service.token
        with Client(f"http://127.0.0.1:{service.port}", token) as client:
            report = search(client, tmp_path, [token])
        (record,) = (tmp_path / "home" / "state").rglob(f"*-{service.port}")
        assert sorted(report["places"][token.encode().hex()]) == sorted([str(tmp_path / "home" / "token"), str(record)])
