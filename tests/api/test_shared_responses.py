"""Responses that pages share after a change: one request computes them, and they always contain the change."""

import asyncio
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from sqlalchemy import Engine
from starlette.types import Message, Receive, Scope, Send

from api.live.marks import Marks
from api.live.shared_responses import AGE_S, MOST_BYTES, SharedResponsesMiddleware
from contract.settings import Settings
from tests.api.test_events import create, measure, start
from tests.testing.api import TOKEN, WITH_TOKEN
from tests.testing.command import serving
from tests.testing.event_stream import event_stream
from tests.testing.loops import run_in_own_loop
from tests.testing.specs import Experiment


class Service:
    """A service whose answers are the numbers of its requests."""

    def __init__(self, *, status: int = 200, size: int = 0) -> None:
        self.marks, self.calls, self.may_answer = Marks(), 0, asyncio.Event()
        self._status, self._size = status, size
        self._app = SharedResponsesMiddleware(self._answer)
        self.may_answer.set()

    async def get(
        self, mark: str = "", *, method: str = "GET", tag: bytes = b"", may_read: asyncio.Event | None = None
    ) -> str:
        """Send a request; return the body, which the client takes when it may."""
        sent: list[Message] = []
        headers = [(b"bigbatch-after", mark.encode())] if mark else []
        headers += [(b"if-none-match", tag)] if tag else []
        app = SimpleNamespace(state=SimpleNamespace(live=SimpleNamespace(marks=self.marks)))
        scope = {"type": "http", "method": method, "path": "/a", "query_string": b"b=1", "headers": headers, "app": app}

        async def send(message: Message) -> None:
            if may_read and message["type"] == "http.response.body" and not message.get("more_body"):
                await may_read.wait()
            sent.append(message)

        await self._app(scope, self._receive, send)
        assert sent[0]["status"] == self._status
        return b"".join(message.get("body", b"") for message in sent).decode()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.calls += 1
        body = f"{self.calls}".encode()
        await self.may_answer.wait()
        await send({"type": "http.response.start", "status": self._status, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"x" * self._size})

    async def _receive(self) -> Message:
        return {"type": "http.request"}


def run(service: Service, marks: Iterable[str]) -> list[str]:
    async def ask() -> list[str]:
        return [await service.get(mark) for mark in marks]

    return run_in_own_loop(ask())


def test_requests_that_react_to_one_change_get_one_response() -> None:
    service = Service()

    async def ask() -> list[str]:
        mark = service.marks.make()
        service.may_answer.clear()
        asked = [asyncio.create_task(service.get(mark)) for _ in range(20)]
        await asyncio.sleep(0)
        service.may_answer.set()
        return [*await asyncio.gather(*asked), await service.get(mark)]

    assert run_in_own_loop(ask()) == ["1"] * 21


def test_a_response_that_was_begun_before_a_change_does_not_answer_requests_after_it() -> None:
    """Forces the order: the request of the first change is still under way when the second one is read."""
    service = Service()

    async def ask() -> list[str]:
        service.may_answer.clear()
        first = asyncio.create_task(service.get(service.marks.make()))
        await asyncio.sleep(0)
        second = asyncio.create_task(service.get(service.marks.make()))
        await asyncio.sleep(0)
        service.may_answer.set()
        return [await first, await second]

    assert run_in_own_loop(ask()) == ["1", "2"]


def test_a_newer_response_answers_a_request_with_an_older_mark() -> None:
    service = Service()
    old = service.marks.make()
    assert run(service, [service.marks.make(), old]) == ["1", "1"]


def test_requests_without_a_mark_of_this_process_get_their_own_response() -> None:
    service = Service()
    wrong = ["", Marks().make(), "5", "", f"{service.marks.make()}0x"]
    assert run(service, [service.marks.make(), *wrong]) == ["1", "2", "3", "4", "5", "6"]


def test_after_a_request_that_may_change_something_nothing_older_is_shared() -> None:
    service = Service()
    mark = service.marks.make()

    async def ask() -> list[str]:
        return [await service.get(mark), await service.get(method="PATCH"), await service.get(mark)]

    assert run_in_own_loop(ask()) == ["1", "2", "3"]


def test_a_response_depends_on_what_the_client_has() -> None:
    service = Service()
    mark = service.marks.make()

    async def ask() -> list[str]:
        return [await service.get(mark, tag=tag) for tag in (b"a", b"b", b"a")]

    assert run_in_own_loop(ask()) == ["1", "2", "1"]


def test_errors_and_long_responses_are_not_shared() -> None:
    for service in (Service(status=503), Service(size=MOST_BYTES)):
        mark = service.marks.make()
        assert [body[0] for body in run(service, [mark, mark])] == ["1", "2"]


def test_a_client_that_reads_slowly_holds_no_other_up() -> None:
    """Forces the fault: the first client takes nothing of its response until the second one has it."""
    service = Service()

    async def ask() -> tuple[str, str]:
        mark, may_read = service.marks.make(), asyncio.Event()
        slow = asyncio.create_task(service.get(mark, may_read=may_read))
        await asyncio.sleep(0)
        second = await asyncio.wait_for(service.get(mark), 30)
        may_read.set()
        return await slow, second

    assert run_in_own_loop(ask()) == ("1", "1")


@pytest.mark.ring("all")
def test_an_old_response_is_not_shared() -> None:
    service = Service()
    mark = service.marks.make()

    async def ask() -> list[str]:
        first = await service.get(mark)
        await asyncio.sleep(AGE_S)
        return [first, await service.get(mark)]

    assert run_in_own_loop(ask()) == ["1", "2"]


@pytest.mark.ring("all")
def test_pages_get_every_change_and_share_its_answer(engine: Engine, experiment: Experiment, tmp_path: Path) -> None:
    """Ten pages ask after each of 30 changes: no answer is older than the change, and few are computed."""
    experiment_id, (run_id,) = create(engine, experiment)
    start(engine, run_id)
    database = engine.url.render_as_string(hide_password=False)
    pages = 10
    with (
        serving(Settings(home=tmp_path, database=database, token=TOKEN, live_seconds=0.05)) as url,
        event_stream(url, f"?experiment={experiment_id}") as stream,
        httpx.Client(headers=WITH_TOKEN, limits=httpx.Limits(max_connections=pages)) as client,
        ThreadPoolExecutor(pages) as threads,
    ):

        def step(mark: str) -> int:
            path = f"{url}/api/v1/experiments/{experiment_id}/runs"
            answer = client.get(path, headers={"Bigbatch-After": mark}).raise_for_status()
            return int(answer.json()["items"][0]["step"])

        for number in range(1, 31):
            measure(engine, run_id, number)
            mark = stream.wait_for_run(run_id, step=number).data["mark"]
            assert set(threads.map(step, [mark] * pages)) == {number}
        text = client.get(f"{url}/metrics").raise_for_status().text
    (computed,) = re.findall(r'_count\{operation="list_experiment_runs",status="200"\} ([\d.]+)', text)
    assert 30 <= float(computed) < 30 * pages / 2
