"""The commands that ask the service once, as a user types them."""

import io
import json
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from bigbatch.client import Client
from contract.api.cluster_report import Admits, ClusterReport, Partition, QueuedJob
from contract.lifecycle.state import State
from store import clusters
from store.session import transaction
from store.tables import Cluster
from tests.bigbatch.conftest import SPEC, Call, Site
from tests.testing import seed_runs as seed


def test_submit_tells_the_id_the_runs_and_the_address(client: Client, call: Call, spec: Path) -> None:
    said = call("submit", spec)
    newest = next(client.experiments())
    assert said.code == 0
    assert said.out == f"experiment {newest.id}, 2 runs: {client.url}/experiments/{newest.id}\n"


def test_submit_tells_programs_in_json(client: Client, call: Call, spec: Path) -> None:
    told = json.loads(call("submit", "--json", spec).out)
    assert told["url"].endswith(f"/experiments/{told['id']}")
    assert [run.id for run in client.runs(told["id"])] == told["runs"]


def test_submit_reads_standard_input(client: Client, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SPEC.encode())))
    assert call("submit", "-").code == 0


def test_faults_of_the_service_are_a_line_each(client: Client, call: Call, spec: Path) -> None:
    spec.write_text(SPEC.replace("batch: 64", "batch: 0").replace("epochs: 2", "epochz: 2"))
    said = call("submit", spec)
    assert said.code == 2
    assert not said.out
    lines = said.err.splitlines()
    assert "base.epochs: this field is needed" in lines
    assert "base.epochz: there is no such field" in lines
    assert any(line.startswith("base.batch: ") for line in lines)


@pytest.mark.parametrize("text", ["base: ../other.yaml", "name: [", "", "- a list"])
def test_faults_of_the_file_end_with_2(client: Client, call: Call, spec: Path, text: str) -> None:
    spec.write_text(text)
    said = call("submit", spec)
    assert said.code == 2
    assert len(said.err.splitlines()) == 2


def test_list_shows_the_newest_first(client: Client, site: Site, call: Call) -> None:
    first, second = client.create(SPEC), client.create(SPEC.replace("two rates", "named [bold]oddly[/]"))
    seed.measure(site, first.runs[0], 3, heldout_accuracy=0.9125)
    heads, newest, older, *rest = call("list", "--limit", 2).out.splitlines()
    assert heads.split() == ["id", "name", "state", "progress", "runs", "best", "accuracy", "age"]
    assert newest.split()[:4] == [str(second.id), "named", "[bold]oddly[/]", "queued"]
    assert "91.25 %" in older
    assert not rest
    assert [e["id"] for e in json.loads(call("list", "--json", "--limit", 2).out)] == [second.id, first.id]


def test_show_lists_the_runs(client: Client, site: Site, call: Call) -> None:
    created = client.create(SPEC)
    seed.move(site, created.runs[1], [State.SUBMITTING, State.FAILED], reason="no such partition")
    _, first, second = call("show", created.id).out.splitlines()
    assert first.split()[:3] == [str(created.runs[0]), "schedule.rate=0.05", "queued"]
    assert second.endswith("no such partition")
    assert len(json.loads(call("show", "--json", created.id).out)) == 2


def test_stop_takes_an_experiment_or_a_run(client: Client, site: Site, call: Call) -> None:
    created = client.create(SPEC)
    assert call("stop", "--run", created.runs[0]).out == "asked 1 run to stop\n"
    assert client.run(created.runs[0]).stopping
    assert not client.run(created.runs[1]).stopping
    assert call("stop", created.id).out == "asked 2 runs to stop\n"
    for run_id in created.runs:
        seed.move(site, run_id, [State.CANCELLED])
    assert call("stop", created.id).out == f"experiment {created.id} had ended already\n"
    assert json.loads(call("stop", "--json", created.id).out) == {"stopping": 0}


def test_clusters_show_partitions_and_what_went_wrong(client: Client, site: Site, call: Call) -> None:
    gpu = Partition(
        name="gpu", is_default=True, state="up", nodes=4, idle_nodes=1, cpus=64, time_limit="1:00:00", gres="gpu:4"
    )
    job = QueuedJob(
        job_id="7", name="j", user="u", partition="gpu", state="PENDING", nodes=1, elapsed="0:00", reason="Resources"
    )
    report = ClusterReport(partitions=[gpu], nodes=[], queue=[job])
    with transaction(site.engine) as db:
        clusters.put(db, "slurm", report, "squeue: connection refused")
    said = call("clusters")
    told = json.loads(call("clusters", "--json").out)
    with transaction(site.engine) as db:
        db.delete(db.get_one(Cluster, "slurm"))
    row = said.out.splitlines()[1].split()
    assert row[:9] == ["slurm", "gpu", "(default)", "up", "1/4", "64", "1:00:00", "gpu:4", "1"]
    assert said.err == "slurm: squeue: connection refused\n"
    assert told[0]["report"]["queue"][0]["job_id"] == "7"


def test_dry_run_shows_every_point_without_a_service(call: Call, spec: Path) -> None:
    code, shown, _ = call("dry-run", spec)
    assert code == 0
    assert "schedule.rate=0.05" in shown
    assert "schedule.rate=0.1" in shown


def test_dry_run_goes_by_what_the_service_s_slurm_admits(
    call: Call, spec: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIGBATCH_URL", "http://127.0.0.1:9")  # where nobody is
    spec.write_text(SPEC.replace("epochs: 2", "epochs: 2\n  resources: {kind: slurm}"))
    assert "of up to 1001 tasks (Slurm's own default" in call("dry-run", spec).out
    monkeypatch.setenv("BIGBATCH_URL", site.url)
    told = ClusterReport(partitions=[], nodes=[], queue=[], admits=Admits(tasks=2, jobs=100))
    with transaction(site.engine) as db:
        clusters.put(db, "slurm", told, None)
    shown = call("dry-run", spec).out
    with transaction(site.engine) as db:
        db.delete(db.get_one(Cluster, "slurm"))
    assert "of up to 2 tasks (MaxArraySize of this Slurm; of all jobs at most 100 at once)" in shown


def test_dry_run_finds_faults(call: Call, spec: Path) -> None:
    spec.write_text(SPEC.replace("batch: 64", "batch: 1000000"))
    said = call("dry-run", spec)
    assert said.code == 2
    assert "base.batch: batch 1000000 is larger than the 1437 training samples" in said.err


def test_the_version_is_the_distributions(call: Call) -> None:
    assert call("--version") == (0, f"bigbatch {version('bigbatch')}\n", "")


@pytest.mark.parametrize(
    "words", [("show", 99999), ("watch", 99999), ("stop", 99999), ("logs", 99999), ("stop", "--run", 99999)]
)
def test_what_is_not_there_is_one_sentence(client: Client, call: Call, words: tuple[object, ...]) -> None:
    said = call(*words)
    assert said.code == 1
    assert said.err.startswith("there is no ")
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize("words", [("list",), ("watch", 1), ("logs", 1), ("stop", 1), ("clusters",)])
def test_no_service_is_one_sentence(call: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...]) -> None:
    monkeypatch.setenv("BIGBATCH_URL", "http://127.0.0.1:1")
    monkeypatch.setattr("bigbatch.connection.WAITS_S", (0.01,))
    said = call(*words)
    assert said.code == 1
    assert "bigbatch up" in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize("words", [("watch", "three"), ("lisst",), ("submit",), ("list", "--limit", "0")])
def test_a_command_mistyped_ends_with_2(call: Call, words: tuple[str, ...]) -> None:
    assert call(*words).code == 2


def test_the_unforeseen_is_told_without_a_trace(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("the moon is full")

    monkeypatch.setattr("bigbatch.commands.submit.read_spec", fail)
    said = call("submit", "x.yaml")
    assert said.code == 1
    assert said.err == "RuntimeError: the moon is full (BIGBATCH_DEBUG=1 shows where)\n"
    monkeypatch.setenv("BIGBATCH_DEBUG", "1")
    with pytest.raises(RuntimeError):
        call("submit", "x.yaml")
