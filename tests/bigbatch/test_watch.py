"""Tests of following experiments and logs until their end, also during an outage of the service."""

import io
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from bigbatch.client import Client
from bigbatch.commands.watch import QueueReason, watch_to_end
from bigbatch.polling import Pause, retry_until_answered
from bigbatch.terminal.progress import describe_progress, state_name, summarize
from contract.lifecycle.reason import Retried, RunFailed, RunPaused
from contract.lifecycle.state import State
from contract.lifecycle.unread import Unread
from contract.settings import Settings
from migrations.commands import upgrade
from store.session import engine_for
from tests.testing import seed_runs
from tests.testing.api import TOKEN
from tests.testing.command import SPEC, Call, Site, serving
from tests.testing.seed_runs import TO_RUNNING
from tests.testing.servers import free_port, wait_for


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "polling.POLL_INTERVAL_S",
        "polling.RETRY_INTERVAL_S",
        "commands.logs.POLL_INTERVAL_S",
        "terminal.progress.LINE_S",
    ):
        monkeypatch.setattr(f"bigbatch.{name}", 0.05)
    monkeypatch.setattr("bigbatch.connection.RETRY_DELAYS_S", (0.01,))


class Between:
    """Does one piece of work after each look, in turn: what a look finds does not depend on how fast the machine is."""

    def __init__(self, *work: Callable[[], None]) -> None:
        self._work = list(work)

    def __call__(self, *_: object) -> None:
        if self._work:
            self._work.pop(0)()

    def looks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of whoever watches an experiment."""

        def looked(ask: Callable[[], Any], pause: Pause) -> Any:
            self()
            return retry_until_answered(ask, pause)

        monkeypatch.setattr("bigbatch.polling.retry_until_answered", looked)


def test_watch_ends_with_0_when_every_run_is_done(
    client: Client, site: Site, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = client.create(SPEC)

    def train() -> None:
        for run_id in created.runs:
            seed_runs.move(site, run_id, TO_RUNNING, step=3, latest={"loss": 0.25})

    def end() -> None:
        for run_id, best in zip(created.runs, (0.95, 0.9625), strict=True):
            values = {"latest": {"heldout_accuracy": 0.95}, "objective_value": best}
            seed_runs.move(site, run_id, [State.DONE], step=44, **values)

    Between(train, end).looks(monkeypatch)
    reported = call("watch", created.id)
    first, *between, one, two = reported.out.splitlines()
    assert reported.code == 0
    assert first.startswith("0 %: 2 queued")
    assert any("2 running" in line and "3/44  loss 0.25" in line for line in between)
    assert one == f"run {created.runs[0]} schedule.rate=0.05: done: held-out accuracy 95.00 %"
    assert two == f"run {created.runs[1]} schedule.rate=0.1: done: held-out accuracy 95.00 % (best 96.25 %)"


def test_watch_names_another_tracker_of_which_no_metric_is_read(
    client: Client, site: Site, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = client.create(SPEC)
    words = "this run logs to wandb (wandb/run-1), and Bigbatch reads no metric of it"

    def end() -> None:
        for run_id in created.runs:
            seed_runs.move(site, run_id, [*TO_RUNNING, State.DONE], unread=Unread(metrics=words))

    Between(end).looks(monkeypatch)
    lines = call("watch", created.id).out.splitlines()
    assert lines.count(f"run {created.runs[0]} schedule.rate=0.05: {words}") == 1


@pytest.mark.parametrize("end", [State.FAILED, State.CANCELLED])
def test_watch_ends_with_1_and_the_reason_otherwise(client: Client, site: Site, call: Call, end: State) -> None:
    created = client.create(SPEC)
    seed_runs.move(site, created.runs[0], [*TO_RUNNING, State.DONE], step=44)
    seed_runs.move(site, created.runs[1], [*TO_RUNNING, end], step=7, reason="rank 3 fell: out of memory")
    reported = call("watch", created.id)
    assert reported.code == 1
    assert f"{end} at step 7 of 44: rank 3 fell: out of memory" in reported.out.splitlines()[-1]


def test_submit_watches_too(
    client: Client, site: Site, call: Call, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        newest = next(client.experiments())
        for run in client.runs(newest.id):
            seed_runs.move(site, run.id, [State.SUBMITTING, State.FAILED], reason="no")

    Between(fail).looks(monkeypatch)
    assert call("submit", "--watch", spec).code == 1


@pytest.mark.parametrize("command", ["submit", "watch"])
def test_ctrl_c_says_that_the_runs_continue_and_how_to_watch_or_stop_them(
    client: Client, call: Call, spec: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bigbatch.polling.retry_until_answered", interrupt)
    words = ("submit", "--watch", spec) if command == "submit" else ("watch", client.create(SPEC).id)
    reported = call(*words)
    newest = next(client.experiments()).id
    continues = f"the runs of experiment {newest} continue"
    ways = f"watch them again with: bigbatch watch {newest}; stop them with: bigbatch stop {newest}"
    assert f"{continues}; {ways}" in reported.err.splitlines()
    assert reported.code == 130


def test_a_terminal_gets_bars_for_the_live_runs(client: Client, site: Site) -> None:
    rates = ", ".join(f"0.0{number}" for number in range(1, 10)) + ", 0.1, 0.2, 0.3"
    created = client.create(SPEC.replace("0.05, 0.1", rates))
    for run_id in created.runs[:10]:
        seed_runs.move(site, run_id, TO_RUNNING, step=11, latest={"loss": 0.5})
    seed_runs.move(site, created.runs[10], [*TO_RUNNING, State.DONE])
    shown = io.StringIO()

    def cancel(_: float) -> None:
        client.stop_experiment(created.id)
        for number, run_id in enumerate(created.runs):
            if number != 10:
                seed_runs.move(site, run_id, [State.CANCELLED])

    out = Console(file=shown, force_terminal=True, width=120, _environ={"TERM": "xterm"})
    assert not watch_to_end(client, created.id, out, pause=cancel)
    first = shown.getvalue().split("100 %")[0]
    assert "10 running, 1 done" in first
    assert first.count("11/44") == 8
    assert "━" in first


@pytest.mark.ring("all")
def test_watch_outlives_a_service_that_goes_away(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings = Settings(home=tmp_path, token=TOKEN)
    upgrade(settings.database_url())
    own = Site("", tmp_path, engine_for(settings.database_url()))
    before = serving(settings, free_port())
    results: list[bool] = []
    looked, reported = threading.Event(), [""]

    def pause(seconds: float) -> None:
        looked.set()
        time.sleep(seconds)

    def is_printed(words: str) -> bool:
        reported[0] += capfd.readouterr().err
        return words in reported[0]

    with before as url:
        client = Client(url, TOKEN)
        created = client.create(SPEC)
        watching = threading.Thread(
            target=lambda: results.append(watch_to_end(client, created.id, Console(file=io.StringIO()), pause=pause))
        )
        watching.start()
        assert looked.wait(60)
    wait_for("a word on it", lambda: is_printed("; retrying"))
    for run_id in created.runs:
        seed_runs.move(own, run_id, [*TO_RUNNING, State.DONE])
    with serving(settings, before.port):
        watching.join(60)
    assert results == [True]
    gone, back = (reported[0] + capfd.readouterr().err).splitlines()
    assert gone.endswith("; retrying")
    assert back == "the service answers again"


def test_logs_prints_what_is_there(client: Client, site: Site, call: Call) -> None:
    run_id = client.create(SPEC).runs[0]
    assert call("logs", run_id).out == ""
    text = "grüße [bold]\n" * 20_000  # more than one answer holds
    seed_runs.log_of(site, run_id).log.write_text(text)
    assert call("logs", run_id).out == text


def test_logs_follows_until_the_run_ends(
    client: Client, site: Site, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = client.create(SPEC).runs[0]
    log = seed_runs.log_of(site, run_id).log
    log.write_text("one\n")

    def say(text: str) -> None:
        with log.open("a") as file:
            file.write(text)

    def train() -> None:
        seed_runs.move(site, run_id, TO_RUNNING)
        say("two\n")

    def end() -> None:
        say("three\n")
        seed_runs.move(site, run_id, [State.DONE])

    monkeypatch.setattr("bigbatch.commands.logs.time", SimpleNamespace(sleep=Between(train, end)))
    assert call("logs", run_id, "-f").out == "one\ntwo\nthree\n"


@pytest.mark.ring("gate")
def test_a_run_behind_others_says_which_have_the_ranks_asked_once_in_a_while_and_not_beside_a_run_that_goes_on(
    client: Client,
) -> None:
    waiting = client.create(SPEC)
    asked: list[int] = []
    now = [0.0]

    class Counting:
        def run(self, run_id: int) -> SimpleNamespace:
            asked.append(run_id)
            return SimpleNamespace(reason="waits: run 7 has 2")

    behind, runs = QueueReason(cast(Client, Counting()), now=lambda: now[0]), list(client.runs(waiting.id))
    for at in (0.0, 1.0, 4.9, 5.0):
        now[0] = at
        assert behind.add_to(runs)[0].reason == "waits: run 7 has 2"
    assert asked == [waiting.runs[0]] * 2
    assert describe_progress(behind.add_to(runs)[0]) == "queued: waits: run 7 has 2"
    going_on = [runs[0], runs[1].model_copy(update={"state": State.RUNNING})]
    assert [run.reason for run in behind.add_to(going_on)] == [None, None]


@pytest.mark.ring("gate")
def test_a_run_whose_rank_has_failed_is_failing_and_then_retrying_and_not_paused_or_queued(
    client: Client, site: Site
) -> None:
    created = client.create(SPEC)
    failed = RunFailed(message="rank 1 on n2: ValueError: lr is negative")
    seed_runs.move(site, created.runs[0], [*TO_RUNNING, State.PAUSED], step=7, reason=failed)
    seed_runs.move(site, created.runs[1], [*TO_RUNNING, State.PAUSED], step=7, reason=failed)
    seed_runs.move(site, created.runs[1], [State.QUEUED], reason=Retried(after=failed, attempt=2))
    runs = list(client.runs(created.id))
    assert [state_name(run) for run in runs] == ["failing", "retrying"]
    assert describe_progress(runs[0]) == "failing: rank 1 on n2: ValueError: lr is negative"
    assert summarize(runs).endswith(": 1 retrying, 1 failing")
    paused = client.create(SPEC)
    seed_runs.move(site, paused.runs[0], [*TO_RUNNING, State.PAUSED], reason=RunPaused(step=3, message="SIGTERM"))
    assert [state_name(run) for run in client.runs(paused.id)] == ["paused", "queued"]
