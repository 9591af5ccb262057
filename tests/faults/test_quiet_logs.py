"""The logs of the service stay small while a part that it needs is away."""

import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.testing import servers
from tests.testing.databases import new_database
from tests.testing.servers import wait_for
from tests.testing.service import running

pytestmark = [pytest.mark.flow, pytest.mark.postgres]
AWAY_S = 25
MOST_LINES, MOST_BYTES, MOST_TRACEBACKS = 600, 50_000, 10  # of all parts; 325 tracebacks and 1.2 MB before


def test_a_database_that_is_away_for_a_while_is_told_in_few_lines(tmp_path: Path) -> None:
    """Forces the fault: PostgreSQL ends without a word, and comes back after 25 s; every tick fails meanwhile."""
    with servers.postgres_process() as postgres:
        parts = {"BIGBATCH_DATABASE": new_database(postgres.url, "team"), "BIGBATCH_SLURM": "false"}
        with running(tmp_path / "home", parts) as service:
            before = {path: path.stat().st_size for path in service.logs.glob("*.log")}
            postgres.kill()
            until = time.monotonic() + AWAY_S
            while time.monotonic() < until:
                for path in ("/runs", "/experiments"):
                    with suppress(httpx.TransportError):
                        assert service.ask("GET", path).status_code == 503
                time.sleep(0.2)
            postgres.start()
            service.wait_for_api()
            worker = service.logs / "worker.log"
            wait_for("a word on the end", lambda: "the database answers again after" in worker.read_text())
            texts = {path.name: path.read_text()[before.get(path, 0) :] for path in service.logs.glob("*.log")}
    written = "".join(texts.values())
    lines, tracebacks = written.count("\n"), written.count("Traceback (most recent call last)")
    print(f"{lines} lines, {len(written)} bytes, {tracebacks} tracebacks")
    assert (lines < MOST_LINES, len(written) < MOST_BYTES, 0 < tracebacks < MOST_TRACEBACKS) == (True, True, True), (
        written
    )
