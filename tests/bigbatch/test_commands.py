"""Tests of the commands with one request to the service."""

import io
import json
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from bigbatch.client import Client
from bigbatch.errors import ApiError
from contract.api.cluster_report import ClusterReport, Partition, QueuedJob, SubmitLimits
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.state import State
from store import clusters
from store.session import transaction
from store.tables.clusters import Cluster
from store.tables.runs import Run
from tests.testing import seed_runs
from tests.testing.api import TOKEN
from tests.testing.command import SPEC, Call, Site
from tests.testing.stored_runs import add_job, end_attempt


def test_submit_tells_the_id_the_runs_and_the_address(client: Client, call: Call, spec: Path) -> None:
    reported = call("submit", spec)
    newest = next(client.experiments())
    assert reported.code == 0
    assert reported.out == f"experiment {newest.id}, 2 runs: {client.url}/experiments/{newest.id}\n"


def test_submit_tells_programs_in_json(client: Client, call: Call, spec: Path) -> None:
    answer = json.loads(call("submit", "--json", spec).out)
    assert answer["url"].endswith(f"/experiments/{answer['id']}")
    assert [run.id for run in client.runs(answer["id"])] == answer["runs"]


def test_submit_reads_standard_input(client: Client, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SPEC.encode())))
    assert call("submit", "-").code == 0


def test_faults_of_the_service_are_a_line_each(client: Client, call: Call, spec: Path) -> None:
    spec.write_text(SPEC.replace("batch: 64", "batch: 0").replace("epochs: 2", "epochz: 2"))
    reported = call("submit", spec)
    assert reported.code == 2
    assert not reported.out
    lines = reported.err.splitlines()
    assert "base.epochs: required field" in lines
    assert "base.epochz: unknown field" in lines
    assert any(line.startswith("base.batch: ") for line in lines)


@pytest.mark.parametrize("text", ["base: ../other.yaml", "name: [", "", "- a list"])
def test_faults_of_the_file_end_with_2(client: Client, call: Call, spec: Path, text: str) -> None:
    spec.write_text(text)
    reported = call("submit", spec)
    assert reported.code == 2
    assert len(reported.err.splitlines()) == 2


def test_list_shows_the_newest_first(client: Client, site: Site, call: Call) -> None:
    first, second = client.create(SPEC), client.create(SPEC.replace("two rates", "named [bold]oddly[/]"))
    seed_runs.measure(site, first.runs[0], 3, heldout_accuracy=0.9125)
    heads, newest, older, *rest = call("list", "--limit", 2).out.splitlines()
    assert heads.split() == ["id", "name", "state", "progress", "runs", "best", "accuracy", "tags", "age"]
    assert newest.split()[:4] == [str(second.id), "named", "[bold]oddly[/]", "queued"]
    assert "91.25 %" in older
    assert not rest
    assert [e["id"] for e in json.loads(call("list", "--json", "--limit", 2).out)] == [second.id, first.id]


def test_list_takes_a_state_and_an_order(client: Client, site: Site, call: Call) -> None:
    last, queued, first = (client.create(SPEC.replace("two rates", name)) for name in ("z", "m", "a"))
    for run_id in (*last.runs, *first.runs):
        seed_runs.move(site, run_id, [State.SUBMITTING, State.FAILED])
    listed = json.loads(call("list", "--json", "--state", "failed", "--sort", "name", "--limit", 1000).out)
    assert [e["id"] for e in listed if e["id"] in (last.id, queued.id, first.id)] == [first.id, last.id]
    assert {e["state"] for e in listed} == {"failed"}


def test_show_lists_the_runs(client: Client, site: Site, call: Call) -> None:
    created = client.create(SPEC)
    seed_runs.move(site, created.runs[1], [State.SUBMITTING, State.FAILED], reason="no such partition")
    _, first, second = call("show", created.id).out.splitlines()
    assert first.split()[:3] == [str(created.runs[0]), "schedule.rate=0.05", "queued"]
    assert second.endswith("no such partition")
    assert len(json.loads(call("show", "--json", created.id).out)) == 2
    latest = {"heldout_accuracy": 0.9}
    seed_runs.move(site, created.runs[0], seed_runs.TO_RUNNING, latest=latest, objective_value=0.9125)
    heads, measured, _ = call("show", created.id).out.splitlines()
    assert "last accuracy" in heads
    assert heads.index("last accuracy") < heads.index("best accuracy")
    assert measured.split("44")[-1].split() == ["-", "90.00", "%", "91.25", "%"]
    assert [
        run["id"] for run in json.loads(call("show", "--json", "--state", "failed", created.id).out)
    ] == created.runs[1:]


def test_stop_takes_an_experiment_or_a_run_and_says_which(client: Client, site: Site, call: Call) -> None:
    created = client.create(SPEC)
    first = created.runs[0]
    assert call("stop", "--run", first).out == f"run {first}: requested its stop\n"
    assert client.run(first).stopping
    assert not client.run(created.runs[1]).stopping
    assert call("stop", created.id).out == f"experiment {created.id}: requested the stop of 2 runs\n"
    for run_id in created.runs:
        seed_runs.move(site, run_id, [State.CANCELLED])
    ended = f"it has already ended; for run {created.id}: bigbatch stop --run {created.id}"
    assert call("stop", created.id).out == f"experiment {created.id}: {ended}\n"
    assert call("stop", "--run", first).out == f"run {first}: it has already ended\n"
    assert json.loads(call("stop", "--json", created.id).out) == {"stopping": 0}
    several = client.create(SPEC).runs
    assert call("stop", "--run", *several).out == "".join(f"run {one}: requested its stop\n" for one in several)
    assert all(client.run(run_id).stopping for run_id in several)


@pytest.mark.ring("gate")
@pytest.mark.parametrize("command", ["stop", "retry"])
def test_an_id_of_no_experiment_is_refused_with_the_command_for_a_run(client: Client, call: Call, command: str) -> None:
    refused = call(command, 999_999)
    assert refused.code == 1
    assert refused.err.endswith(f"; for run 999999: bigbatch {command} --run 999999\n")
    assert "bigbatch" not in call(command, "--run", 999_999).err.removeprefix("bigbatch: ")


def test_clusters_show_partitions_and_what_went_wrong(client: Client, site: Site, call: Call) -> None:
    gpu = Partition(
        name="gpu",
        is_default=True,
        state="up",
        nodes=4,
        idle_nodes=1,
        cpus=64,
        time_limit="1:00:00",
        gres="gpu:4",
        out_of_service={"drained": 2},
    )
    job = QueuedJob(
        job_id="7_[0-9]",
        tasks=10,
        name="j",
        user="u",
        partition="cpu,gpu",
        state="PENDING",
        nodes=1,
        elapsed="0:00",
        reason="Resources",
    )
    report = ClusterReport(partitions=[gpu], nodes=[], queue=[job])
    with transaction(site.engine) as db:
        clusters.store_report(db, "slurm", report, "squeue: connection refused")
    reported = call("clusters")
    answer = json.loads(call("clusters", "--json").out)
    with transaction(site.engine) as db:
        db.delete(db.get_one(Cluster, "slurm"))
    row = reported.out.splitlines()[1].split()
    assert row[:8] == ["slurm", "gpu", "(default)", "up", "1/4,", "2", "drained", "64"]
    assert row[8:15] == ["1:00:00", "gpu:4", "10,", "0", "of", "this", "service"]
    assert reported.err == "slurm: squeue: connection refused\n"
    assert answer[0]["report"]["queue"][0]["job_id"] == "7_[0-9]"


def test_clusters_show_the_nodes_on_which_attempts_failed(client: Client, site: Site, call: Call) -> None:
    (run_id, *_) = client.create(SPEC).runs
    with transaction(site.engine) as db:
        run = db.get_one(Run, run_id)
        add_job(db, run, hosts=["n3"])
        end_attempt(db, run, ExitCause.NODE_FAILURE, "a node of the job failed")
    shown = call("clusters", "--failures").out
    row = next(line for line in shown.splitlines() if " n3 " in line)
    assert row.split()[1:5] == ["n3", "1", "1", "0"]
    assert "a node of the job failed" in " ".join(shown.split())
    assert json.loads(call("clusters", "--failures", "--json").out)["nodes"][0]["node"] == "n3"


@pytest.mark.ring("all")
def test_dry_run_shows_every_point_without_a_service(call: Call, spec: Path) -> None:
    code, shown, _ = call("dry-run", spec)
    assert code == 0
    assert "schedule.rate=0.05" in shown
    assert "schedule.rate=0.1" in shown


@pytest.mark.ring("all")
def test_dry_run_goes_by_what_the_service_s_slurm_admits(
    call: Call, spec: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIGBATCH_URL", "http://127.0.0.1:9")  # where nobody is
    spec.write_text(SPEC.replace("epochs: 2", "epochs: 2\n  resources: {kind: slurm}"))
    assert "of up to 1001 tasks (Slurm's default" in call("dry-run", spec).out
    monkeypatch.setenv("BIGBATCH_URL", site.url)
    monkeypatch.setenv("BIGBATCH_TOKEN", TOKEN)
    answer = ClusterReport(partitions=[], nodes=[], queue=[], admits=SubmitLimits(tasks=2, jobs=100))
    with transaction(site.engine) as db:
        clusters.store_report(db, "slurm", answer, None)
    shown = call("dry-run", spec).out
    with transaction(site.engine) as db:
        db.delete(db.get_one(Cluster, "slurm"))
    assert "of up to 2 tasks (MaxArraySize of this Slurm; at most 100 jobs at a time)" in shown


@pytest.mark.ring("all")
def test_a_contradiction_of_the_cluster_s_report_is_shown_and_can_be_forced(
    client: Client, call: Call, spec: Path, site: Site
) -> None:
    spec.write_text(SPEC.replace("epochs: 2", "epochs: 2\n  resources: {kind: slurm, partition: cpu}"))
    gpu = Partition(
        name="gpu", is_default=True, state="up", nodes=4, idle_nodes=1, cpus=64, time_limit="1:00:00", gres="gpu:4"
    )
    with transaction(site.engine) as db:
        clusters.store_report(db, "slurm", ClusterReport(partitions=[gpu], nodes=[], queue=[]), None)
    refused, shown, forced = call("submit", spec), call("dry-run", spec), call("submit", "--force", spec)
    with pytest.raises(ApiError, match="has no partition cpu; it has gpu"):
        client.create(spec.read_text())
    client.create(spec.read_text(), force=True)
    with transaction(site.engine) as db:
        db.delete(db.get_one(Cluster, "slurm"))
    assert refused.code == 2
    assert "base.resources.partition: the cluster has no partition cpu; it has gpu (point 0)" in refused.err
    assert "--force" in refused.err
    assert "cannot run: resources.partition: the cluster has no partition cpu" in shown.out
    assert forced.code == 0


def test_dry_run_finds_faults(call: Call, spec: Path) -> None:
    spec.write_text(SPEC.replace("batch: 64", "batch: 1000000"))
    reported = call("dry-run", spec)
    assert reported.code == 2
    assert "base.batch: batch 1000000 is larger than the 1437 training samples" in reported.err


def test_the_version_is_the_distributions(call: Call) -> None:
    assert call("--version") == (0, f"bigbatch {version('bigbatch')}\n", "")


@pytest.mark.parametrize(
    "words", [("show", 99999), ("watch", 99999), ("stop", 99999), ("logs", 99999), ("stop", "--run", 99999)]
)
def test_what_is_not_there_is_one_sentence(client: Client, call: Call, words: tuple[object, ...]) -> None:
    reported = call(*words)
    assert reported.code == 1
    assert reported.err.startswith("there is no ")
    assert len(reported.err.splitlines()) == 1


@pytest.mark.parametrize("words", [("list",), ("watch", 1), ("logs", 1), ("stop", 1), ("clusters",)])
def test_no_service_is_one_sentence(call: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...]) -> None:
    monkeypatch.setenv("BIGBATCH_URL", "http://127.0.0.1:1")
    monkeypatch.setattr("bigbatch.connection.RETRY_DELAYS_S", (0.01,))
    reported = call(*words)
    assert reported.code == 1
    assert "bigbatch up" in reported.err
    assert len(reported.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words", [("watch", "three"), ("lisst",), ("submit",), ("list", "--limit", "0"), ("list", "--sort", "age")]
)
def test_a_command_mistyped_ends_with_2(call: Call, words: tuple[str, ...]) -> None:
    assert call(*words).code == 2


def test_the_unforeseen_is_told_without_a_trace(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("the moon is full")

    monkeypatch.setattr("bigbatch.commands.submit.read_spec", fail)
    reported = call("submit", "x.yaml")
    assert reported.code == 1
    assert reported.err == "RuntimeError: the moon is full (set BIGBATCH_DEBUG=1 for the traceback)\n"
    monkeypatch.setenv("BIGBATCH_DEBUG", "1")
    with pytest.raises(RuntimeError):
        call("submit", "x.yaml")


def test_sign_in_prints_a_link_or_how_to_get_the_token(
    client: Client, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert f"{client.url}/sign-in#code=" in call("sign-in").out
    monkeypatch.delenv("BIGBATCH_TOKEN")
    reported = call("sign-in")
    assert (reported.code, reported.out) == (1, "")
    assert f"the token of {client.url} is not known: set BIGBATCH_TOKEN" in reported.err


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_the_list_of_commands_has_whole_sentences(call: Call, option: str) -> None:
    shown = call(option)
    commands = " ".join(shown.out.partition("Commands:")[2].split())
    assert shown.code == 0
    assert "until Ctrl-C." in commands
    assert "..." not in commands
    assert call("submit", option).code == 0
