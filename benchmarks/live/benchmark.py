"""Live pages: the lag of points from the trainer's write to the page, and what it costs: `make bench NAME=live`.

The whole service runs as its processes on SQLite (or BIGBATCH_DATABASE=postgresql://... with an empty database); the
cluster is the fake Slurm, whose jobs do nothing, and one process writes the events files of all runs. Each page has a
stream and asks for the curves of all runs when the stream says that there are points. Two further pages, of the
experiment and of its last run, are open in Chromium, and draw. LIVE_RUNS=200, LIVE_RATE=10 (points/s of each run),
LIVE_PAGES=20 and LIVE_SECONDS=30 are the defaults; about two minutes.
"""

import json
import multiprocessing
import os
import platform
import socket
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing.synchronize import Event
from pathlib import Path
from secrets import token_hex
from typing import Any

import httpx

from benchmarks.live.drawn import DrawnSteps
from benchmarks.live.pages import Page
from benchmarks.live.service import Processes, running
from benchmarks.live.stages import StoredSteps, lag_of, table_of
from benchmarks.scale.cluster import Testbed
from contract.lifecycle.state import State
from contract.settings import Settings
from scheduler.submit.submission import submit_queued
from store.session import snapshot
from store.tables.runs import Run

RESULT = Path(__file__).parents[1] / "results" / "live.json"
REST_S = 15.0
AFTER_S = 3.0  # after the last step, until the last points are on the pages
DRAWN = ("a run's page", "the experiment's page")
Row = dict[str, Any]


def main() -> None:
    """Measure, print a table and write the report."""
    asked = {name: float(os.environ.get(f"LIVE_{name.upper()}", value)) for name, value in DEFAULTS.items()}
    with tempfile.TemporaryDirectory(prefix="bigbatch-live-") as folder:
        found = measure(Path(folder), **asked)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


DEFAULTS = {"runs": 200, "rate": 10, "pages": 20, "seconds": 30}


def measure(home: Path, *, runs: float, rate: float, pages: float, seconds: float) -> Row:
    """Return the report of one measurement."""
    token, port = token_hex(), _free_port()
    settings = Settings(home=home, token=token)
    testbed = Testbed.create(settings, int(runs))
    experiment_id = testbed.add_runs(int(runs), "live")
    submit_queued(testbed.site)
    files = _files(testbed)
    environment = {"BIGBATCH_HOME": str(home), "BIGBATCH_TOKEN": token, "XDG_STATE_HOME": str(home / "state")}
    own = {"BIGBATCH_SLURM": "true", "BIGBATCH_LOCAL": "false"}
    row: Row = {"machine": _machine(), "runs": runs, "points_per_s": runs * rate, "pages": pages, "seconds": seconds}
    with running(home, environment | own, port) as processes:
        testbed.start_runs(testbed.oldest(State.PENDING, int(runs)))
        while testbed.count(State.RUNNING) < runs:
            time.sleep(0.2)
        _warm_up(f"http://127.0.0.1:{port}/api/v1", token)
        row["core_share_at_rest"] = _shares(processes, REST_S)
        opened = [Page(f"http://127.0.0.1:{port}", token, experiment_id) for _ in range(int(pages))]
        threads = [thread for page in opened for thread in page.start()]
        row["core_share_with_open_pages_at_rest"] = _shares(processes, REST_S)
        last = testbed.oldest(State.RUNNING, int(runs))[-1].id
        paths = [f"/runs/{last}", f"/experiments/{experiment_id}?tab=curves&series=loss"]
        drawn = DrawnSteps(f"http://127.0.0.1:{port}", token, paths)
        drawn.start()
        drawn.is_open.wait()
        row |= _measure_steps(testbed, files, opened, drawn, processes, rate=rate, seconds=seconds)
        for page in opened:
            page.end.set()
        for thread in threads:
            thread.join()
    row["machine"]["load_at_the_end"] = os.getloadavg()[0]
    return row


def _measure_steps(
    testbed: Testbed,
    files: Sequence[Path],
    pages: Sequence[Page],
    drawn: DrawnSteps,
    processes: Processes,
    *,
    rate: float,
    seconds: float,
) -> Row:
    due = step_times(time.time(), rate, seconds)
    written, end = multiprocessing.Array("d", len(due)), multiprocessing.Event()
    writer = multiprocessing.Process(target=write_steps, args=(files, due, written, end))
    stored = StoredSteps(testbed.site.engine)
    stored.start()
    before, began = processes.seconds(), time.monotonic()
    writer.start()
    writer.join()
    shares = _share_since(processes, before, began)
    time.sleep(AFTER_S)
    for thread in (stored, drawn):
        thread.end.set()
        thread.join()
    moments = [float(moment) for moment in written.get_obj()]
    lags = {
        "stored": lag_of(stored.seen, moments),
        "event": lag_of([seen for page in pages[:1] for seen in page.events], moments),
        "event, all pages": _of_all([lag_of(page.events, moments) for page in pages]),
        "curves, all pages": _of_all([lag_of(page.answers, moments) for page in pages]),
    }
    # the chart of an experiment says only which step of any run is the newest
    lags |= {f"drawn, {what}": lag_of(drawn.seen[path], moments) for what, path in zip(DRAWN, drawn.seen, strict=True)}
    print(table_of(lags))
    requests = sum(page.requests for page in pages) / max(1, len(pages)) / seconds
    print(f"requests for curves by a page: {requests:.1f} a second; processor: {shares}")
    late = max(moment - wanted for moment, wanted in zip(moments, due, strict=True))
    return {
        "lags": {stage: lag._asdict() for stage, lag in lags.items()},
        "requests_of_a_page_per_s": round(requests, 2),
        "core_share": shares,
        "writer_late_at_worst_ms": round(1000 * late),
    }


def _warm_up(url: str, token: str) -> None:
    """Send a request with parameters: the first one makes the OpenAPI document, which takes a second."""
    httpx.get(f"{url}/runs", params={"limit": 1}, headers={"authorization": f"Bearer {token}"}, timeout=60)


def _of_all(lags: Sequence[Any]) -> Any:
    """Return the lag of the page that is worst at the 99th percentile."""
    return max(lags, key=lambda lag: lag.p99_ms)


def _files(testbed: Testbed) -> list[Path]:
    with snapshot(testbed.site.engine) as db:
        return [testbed.site.folder_of(run).events for run in db.query(Run).order_by(Run.id)]


def _shares(processes: Processes, seconds: float) -> dict[str, float]:
    before, began = processes.seconds(), time.monotonic()
    time.sleep(seconds)
    return _share_since(processes, before, began)


def _share_since(processes: Processes, before: dict[str, float], began: float) -> dict[str, float]:
    """Return for each part the share of a core that it has used."""
    took = time.monotonic() - began
    return {part: round((now - before[part]) / took, 3) for part, now in processes.seconds().items()}


def _machine() -> Row:
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    return machine | {"load": os.getloadavg()[0], "python": platform.python_version()}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


VALUES = {"loss": 1.5, "learning_rate": 0.1, "samples_per_s": 800.0, "compute_s": 0.08}
HEAD_S = 0.5  # before the first step


def step_times(begins: float, rate: float, seconds: float) -> list[float]:
    """Return the moments, in seconds since 1970, at which the steps from 1 on are due."""
    return [begins + HEAD_S + number / rate for number in range(int(seconds * rate))]


def write_steps(files: Sequence[Path], due: Sequence[float], written: "list[float]", end: Event) -> None:
    """Append one line to each file at each moment; store in `written` when each step's last line was written.

    A writer that is late goes on at once: the lag is counted from the write, not from the moment that it was due.
    """
    with ExitStack() as stack:
        opened = [stack.enter_context(path.open("ab", buffering=0)) for path in files]
        for step, moment in enumerate(due, 1):
            if end.wait(max(0.0, moment - time.time())):
                return
            line = json.dumps({"kind": "points", "attempt": 1, "at": time.time(), "step": step, "values": VALUES})
            written[step - 1] = time.time()  # of the first line: the lag of the others is a little less
            for file in opened:
                file.write(f"{line}\n".encode())
