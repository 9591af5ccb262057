"""Tests of the start of `bigbatch up`: how it waits for its parts, and what it says meanwhile."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from bigbatch.client import Client
from bigbatch.service import service
from bigbatch.service.address import Address
from bigbatch.service.interrupts import Interrupts
from bigbatch.service.process import ServiceProcess
from bigbatch.service.service import Service, _missing
from contract.api.service import Readiness

BEGAN = datetime(2026, 11, 30, tzinfo=UTC)
READY = Readiness(ready=True, database="ok", scheduler="ok", scheduler_seen_at=BEGAN)


def test_a_service_that_is_not_ready_says_what_is_missing_and_goes_on_trying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the part is there only after two messages."""
    monkeypatch.setattr(service, "USUAL_START_S", 0.01)
    said: list[str] = []
    monkeypatch.setattr(service, "print_message", said.append)
    with Interrupts() as interrupts:
        starting = Service(Address("127.0.0.1", 1), tmp_path, interrupts=interrupts)
        starting._wait(lambda: None if len(said) == 2 else "the scheduler has not reported yet")
    assert all("still trying: the scheduler has not reported yet; logs: " in line for line in said)


@pytest.mark.parametrize(
    ("alive", "said"),
    [
        ({"migrations"}, "the database is being migrated"),
        ({"check"}, "the broker has not answered yet"),
        ({"migrations", "check"}, "the database is being migrated; the broker has not answered yet"),
        (set(), None),
    ],
    ids=["the migration", "the broker", "both", "nothing"],
)
def test_the_first_wait_names_what_is_awaited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alive: set[str], said: str | None
) -> None:
    """Before: a broker that gave no answer was called a migration."""
    monkeypatch.setattr(ServiceProcess, "is_alive", property(lambda part: part.name in alive))
    with Interrupts() as interrupts:
        assert Service(Address("127.0.0.1", 1), tmp_path, interrupts=interrupts)._missing_first() == said


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ({}, None),
        ({"scheduler_seen_at": None, "ready": False}, "the scheduler has not reported yet"),
        ({"scheduler_seen_at": BEGAN - timedelta(seconds=1)}, "the scheduler has not reported yet"),
        ({"ready": False, "database": "does not answer"}, "the database: does not answer"),
        ({"ready": False, "scheduler": "the tick poll is late"}, "the scheduler: the tick poll is late"),
    ],
    ids=["nothing", "no report", "an earlier service's report", "no database", "a late tick"],
)
def test_what_a_starting_service_lacks(answer: dict[str, object], missing: str | None) -> None:
    body = READY.model_copy(update=answer)
    status = 200 if body.ready else 503
    reply = httpx.MockTransport(lambda _: httpx.Response(status, text=body.model_dump_json()))
    with Client("http://127.0.0.1:1", "token", transport=reply) as client:
        assert _missing(client, BEGAN) == missing


def test_an_api_that_does_not_answer_is_what_is_missing() -> None:
    """Forces the fault: nothing listens on the port."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with Client("http://127.0.0.1:1", "token", transport=httpx.MockTransport(refuse)) as client:
        assert (_missing(client, BEGAN) or "").startswith("the API gives no answer")
