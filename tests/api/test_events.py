"""GET /events on a real server: what arrives, after a cut too, and what it costs the database."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from fastapi.sse import ServerSentEvent
from sqlalchemy import Engine, event

from api.live import hub
from api.live.scope import Scope
from api.live.subscription import MAX_WAITING, Subscription
from contract.folder.events import Points
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from store import changes
from store.lifecycle import creation
from store.metrics import points
from store.session import engine_for, snapshot, transaction
from store.tables.runs import Run
from tests.testing.api import TOKEN, WITH_TOKEN
from tests.testing.command import serving
from tests.testing.event_stream import event_stream
from tests.testing.loops import run_in_own_loop
from tests.testing.servers import wait_for
from tests.testing.specs import Experiment
from tests.testing.stored_runs import TO_RUNNING, move

PERIOD_S = 0.05


def settings_of(engine: Engine, home: Path) -> Settings:
    url = engine.url.render_as_string(hide_password=False)
    return Settings(home=home, database=url, token=TOKEN, live_seconds=PERIOD_S)


@pytest.fixture
def url(engine: Engine, tmp_path: Path) -> Iterator[str]:
    """A service on either database."""
    with serving(settings_of(engine, tmp_path)) as url:
        yield url


@pytest.fixture
def sqlite_url(sqlite_engine: Engine, tmp_path: Path) -> Iterator[str]:
    with serving(settings_of(sqlite_engine, tmp_path)) as url:
        yield url


def create(engine: Engine, experiment: Experiment, size: int = 1) -> tuple[int, list[int]]:
    with transaction(engine) as db:
        return creation.create(db, experiment({"seed": list(range(size))}))


def start(engine: Engine, run_id: int) -> None:
    with transaction(engine) as db:
        for state in TO_RUNNING:
            move(db, db.get_one(Run, run_id), state)


def measure(engine: Engine, run_id: int, step: int) -> None:
    with transaction(engine) as db:
        points.put(db, run_id, [Points(attempt=1, at=0.0, step=step, values={"loss": 1.0})])
        db.get_one(Run, run_id).step = step


class Reads:
    """The statements by which the service looks for changes."""

    def __init__(self, engine: Engine) -> None:
        self.count = 0
        engine = engine_for(engine.url.render_as_string(hide_password=False))  # the service's own
        event.listen(engine, "before_cursor_execute", self._count)

    def _count(self, _c: object, _cursor: object, sql: str, *_: object) -> None:
        self.count += sql.startswith("SELECT") and ("FROM changes" in sql or "pg_current_snapshot" in sql)

    def during(self, seconds: float) -> int:
        before = self.count
        time.sleep(seconds)  # the time in which reads are counted
        return self.count - before


@pytest.mark.ring("all")
def test_states_and_points_arrive_at_the_pages_that_show_them(url: str, engine: Engine, experiment: Experiment) -> None:
    first, (run_id,) = create(engine, experiment)
    second, (other,) = create(engine, experiment)
    with (
        event_stream(url, f"?experiment={first}") as of_experiment,
        event_stream(url, f"?run={other}") as of_other,
        event_stream(url) as of_all,
    ):
        for one in (of_experiment, of_other, of_all):
            one.wait_for("the first event", lambda event: event.kind == "change")
        start(engine, run_id)
        of_experiment.wait_for_run(run_id, state="running", has_details=True)
        measure(engine, run_id, 7)
        of_experiment.wait_for_run(run_id, step=7, has_points=True, experiment_id=first)
        of_all.wait_for_run(run_id, step=7)
        measure(engine, other, 3)
        of_other.wait_for_run(other, step=3, experiment_id=second)
        of_all.wait_for_run(other, step=3)
        assert (of_experiment.run_ids(), of_other.run_ids()) == ({run_id}, {other})


@pytest.mark.ring("all")
def test_a_client_gets_what_it_missed_while_its_connection_was_cut(
    url: str, engine: Engine, experiment: Experiment
) -> None:
    """Forces the cut, twice: the id comes back as a header, as browsers send it, and as a parameter."""
    id_, (run_id, other, idle) = create(engine, experiment, 3)
    with event_stream(url, f"?experiment={id_}") as stream:
        measure(engine, run_id, 1)
        last = stream.wait_for_run(run_id, step=1).id
    start(engine, run_id)
    measure(engine, other, 5)
    with event_stream(url, f"?experiment={id_}", last_id=last) as stream:
        missed = stream.wait_for_run(run_id, state="running", has_details=True)
        assert missed == stream.wait_for_run(other, step=5, has_points=True), "all of it in one event"
        assert idle not in stream.run_ids()
        measure(engine, idle, 2)
        stream.wait_for_run(idle, step=2)
    with event_stream(url, f"?experiment={id_}&after={missed.id}") as stream:
        stream.wait_for_run(idle, step=2)
        assert other not in stream.run_ids() or engine.dialect.name == "postgresql"


def test_what_changed_just_before_a_page_opened_its_stream_arrives(
    url: str, engine: Engine, experiment: Experiment
) -> None:
    """A page reads its data first, and a change may come between."""
    id_, (run_id,) = create(engine, experiment)
    measure(engine, run_id, 4)
    with event_stream(url, f"?experiment={id_}") as stream:
        stream.wait_for_run(run_id, step=4, has_points=True)


def test_an_id_of_another_database_makes_the_client_read_anew(sqlite_url: str) -> None:
    for last in (str(2**62), "9" * 30):
        with event_stream(sqlite_url, last_id=last) as stream:
            stream.wait_for("reload", lambda event: event.kind == "reload")


@pytest.mark.ring("all")
def test_three_hundred_pages_cost_one_read_at_a_time(url: str, engine: Engine, experiment: Experiment) -> None:
    id_, (run_id,) = create(engine, experiment)
    reads = Reads(engine)
    with ExitStack() as stack:
        streams = [stack.enter_context(event_stream(url, f"?experiment={id_}")) for _ in range(300)]
        for stream in streams:
            stream.wait_for("the first event", lambda event: event.kind == "change")
        seconds = 1.0
        assert 0 < reads.during(seconds) <= seconds / PERIOD_S + 2
        measure(engine, run_id, 9)
        for stream in streams:
            stream.wait_for_run(run_id, step=9)


@pytest.mark.ring("all")
def test_a_service_without_open_pages_reads_nothing(url: str, engine: Engine, experiment: Experiment) -> None:
    reads = Reads(engine)
    assert reads.during(0.5) == 0
    id_, (run_id,) = create(engine, experiment)
    with event_stream(url, f"?experiment={id_}") as stream:
        measure(engine, run_id, 1)
        stream.wait_for_run(run_id, step=1)
    wait_for("the end of the reads", lambda: reads.during(0.5) == 0)
    with event_stream(url, f"?experiment={id_}") as stream:
        measure(engine, run_id, 2)
        stream.wait_for_run(run_id, step=2)


@pytest.mark.ring("all")
def test_a_client_that_does_not_read_holds_up_no_other(
    sqlite_url: str, sqlite_engine: Engine, experiment: Experiment
) -> None:
    """Forces the slow client: a connection whose bytes nobody takes."""
    id_, run_ids = create(sqlite_engine, experiment, 200)
    port = int(sqlite_url.rpartition(":")[2])
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", port))
        head = f"GET /api/v1/events?experiment={id_} HTTP/1.1\r\nHost: localhost\r\n"
        slow.sendall(f"{head}Authorization: {WITH_TOKEN['authorization']}\r\n\r\n".encode())
        with event_stream(sqlite_url, f"?experiment={id_}") as stream:
            stream.wait_for("the first event", lambda event: event.kind == "change")
            for step in range(1, 60):
                with transaction(sqlite_engine) as db:
                    changes.record_points(db, run_ids)
                measure(sqlite_engine, run_ids[0], step)
                stream.wait_for_run(run_ids[0], step=step)


def test_events_that_a_client_does_not_take_become_one_reload() -> None:
    async def get_after(count: int) -> list[ServerSentEvent | None]:
        stream = Subscription(Scope())
        for number in range(count):
            stream.put(ServerSentEvent(event="change", raw_data="{}", id=str(number)))
        return [await stream.get(0.0) for _ in range(4)]

    waiting = run_in_own_loop(get_after(MAX_WAITING + 3))
    assert [(event.event, event.id) for event in waiting if event] == [
        ("reload", str(MAX_WAITING)),
        ("change", str(MAX_WAITING + 1)),
        ("change", str(MAX_WAITING + 2)),
    ]


@pytest.mark.ring("all")
def test_the_size_of_a_log_arrives_and_grows(
    sqlite_url: str, sqlite_engine: Engine, experiment: Experiment, tmp_path: Path
) -> None:
    _, (run_id,) = create(sqlite_engine, experiment)
    with snapshot(sqlite_engine) as db:
        folder = RunFolder.of(tmp_path / "runs", run_id, db.get_one(Run, run_id).key)
    folder.path.mkdir(parents=True)
    with event_stream(sqlite_url, f"?run={run_id}") as stream:
        stream.wait_for("an empty log", lambda event: event.data == {"run_id": run_id, "size": 0})
        folder.log.write_text("step 1\n")
        stream.wait_for("a line", lambda event: event.data == {"run_id": run_id, "size": 7})


def test_a_database_that_fails_ends_the_streams(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Forces the fault: the next read of changes fails. Pages then poll, and show what is wrong."""

    def fail(*_: object) -> None:
        raise OSError("no database")

    with event_stream(sqlite_url) as stream:
        stream.wait_for("the first event", lambda event: event.kind == "change")
        monkeypatch.setattr(changes, "read", fail)
        assert stream.has_ended.wait(60)
    assert "the changes cannot be read" in caplog.text
    monkeypatch.undo()
    with event_stream(sqlite_url) as stream:
        stream.wait_for("the first event", lambda event: event.kind == "change")


@pytest.mark.ring("all")
def test_a_stream_ends_after_its_time_and_the_next_one_goes_on(
    sqlite_engine: Engine, tmp_path: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the access of a client is checked again."""
    monkeypatch.setattr(hub.Hub.__init__, "__kwdefaults__", {"lifetime_s": 0.2})
    _, (run_id,) = create(sqlite_engine, experiment)
    with serving(settings_of(sqlite_engine, tmp_path)) as url:
        with event_stream(url, f"?run={run_id}") as stream:
            assert stream.has_ended.wait(60)
            last = stream.events[-1].id or stream.events[0].id
        measure(sqlite_engine, run_id, 3)
        with event_stream(url, f"?run={run_id}", last_id=last) as stream:
            stream.wait_for_run(run_id, step=3)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        ("?run=7", WITH_TOKEN, 404),
        ("?experiment=7", WITH_TOKEN, 404),
        ("?run=x", WITH_TOKEN, 422),
        ("?runs=1", WITH_TOKEN, 422),
        ("", {}, 401),
    ],
)
def test_a_stream_is_refused_as_other_requests_are(
    sqlite_url: str, query: str, headers: dict[str, str], status: int
) -> None:
    answer = httpx.get(f"{sqlite_url}/api/v1/events{query}", headers=headers, timeout=60)
    assert (answer.status_code, answer.json()["status"]) == (status, status)


def test_head_has_the_headers_and_ends(sqlite_url: str) -> None:
    answer = httpx.head(f"{sqlite_url}/api/v1/events", headers=WITH_TOKEN, timeout=60)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


def test_a_service_without_streams_says_so(sqlite_engine: Engine, tmp_path: Path) -> None:
    settings = settings_of(sqlite_engine, tmp_path).model_copy(update={"live_seconds": 0.0})
    with serving(settings) as url:
        answer = httpx.get(f"{url}/api/v1/events", headers=WITH_TOKEN, timeout=60)
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert "BIGBATCH_LIVE_SECONDS" in answer.json()["detail"]
