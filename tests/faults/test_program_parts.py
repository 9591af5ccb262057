"""The programs of chaos, their ledgers and their faults: each planted fault is found, and none in a good run."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from contract.access.service_folders import TOOLS
from contract.folder.run_folder import RunFolder
from contract.spec.experiment import ExperimentSpec
from contract.spec.program.run import ProgramSpec
from tests.testing.faults.audit import _twice, events, restart_faults, steps_to_store, steps_written
from tests.testing.faults.field import Field
from tests.testing.faults.programs.changed_tools import GENERATION, INTERRUPT, damaged_versions
from tests.testing.faults.programs.ledger import ledger_faults
from tests.testing.faults.programs.load import HOST_CPUS, SOURCES, VARIANTS, choose
from tests.testing.faults.programs.mishaps import SCRIPT, agents_of, ranks_of, tools_interrupted
from tests.testing.programs import agent, program_folder, run_agent
from tests.testing.servers import wait_for
from tests.testing.service import Service

ROOT = Path(__file__).parents[2]


def folder_of(tmp_path: Path, way: str, *more: str, save_every: int = 5, steps: int = 12) -> RunFolder:
    """Write the folder of a run of chaos's program on this machine."""
    (tmp_path / "ledger").mkdir(exist_ok=True)
    words = [sys.executable, "-u", SCRIPT, "--folder", "{run_folder}", "--ledger", str(tmp_path / "ledger")]
    words += ["--report", way, "--checkpoint", "{checkpoint_folder}/step.json", "--save-every", str(save_every)]
    words += ["--steps", str(steps), "--step-s", "0.01", *more]
    variables = {"variables": {"PYTHONPATH": str(ROOT)}}  # the agent of a source tree has no folder of tools beside it
    return program_folder(tmp_path, words, metrics=SOURCES[way], environment=variables, steps=steps)


def run_of(folder: RunFolder) -> dict[str, Any]:
    """Return what the API would say of a run that has stored all that was written."""
    resumed = [line for line in events(folder.path) if line["kind"] == "resumed"]
    restarts = [{name: line[name] for name in ("attempt", "step", "lost_steps")} for line in resumed]
    spec = json.loads((folder.path / "spec.json").read_text())
    return {"id": 1, "folder": str(folder.path), "spec": spec, "steps": spec["steps"], "restarts": restarts}


def faults_of(folder: RunFolder, tmp_path: Path) -> list[str]:
    run, reported = run_of(folder), events(folder.path)
    twice = _twice(reported, folder.path, is_read=bool(run["spec"]["metrics"]))
    return [*filter(None, [twice]), *restart_faults(run, reported), *ledger_faults(run, tmp_path / "ledger")]


@pytest.mark.ring("all")
@pytest.mark.parametrize("way", SOURCES)
def test_a_program_that_fails_on_purpose_takes_every_step_once(tmp_path: Path, way: str) -> None:
    folder = folder_of(tmp_path, way, "--fails", "1", "--fail-at", "8", "--how", "signal")
    folder.log.touch()
    assert [run_agent(folder, 1), run_agent(folder, 2)] == [1, 0], folder.log.read_text()
    run, reported = run_of(folder), events(folder.path)
    assert steps_written(reported) == steps_to_store(run) == list(range(1, 13))
    assert faults_of(folder, tmp_path) == []
    assert [(restart["step"], restart["lost_steps"]) for restart in run["restarts"]] == [(5, 3)]


@pytest.fixture
def restarted(tmp_path: Path) -> RunFolder:
    """A run whose first attempt failed after step 8, and whose second one went on from step 5."""
    folder = folder_of(tmp_path, "log", "--fails", "1", "--fail-at", "8")
    assert [run_agent(folder, 1), run_agent(folder, 2)] == [1, 0], folder.log.read_text()
    assert faults_of(folder, tmp_path) == []
    return folder


@pytest.mark.ring("all")
def test_a_step_that_was_reported_and_is_in_no_event_is_found(restarted: RunFolder, tmp_path: Path) -> None:
    lines = restarted.events.read_text().splitlines(keepends=True)
    restarted.events.write_text("".join(line for line in lines if '"step":10' not in line))
    assert faults_of(restarted, tmp_path) == ["run 1: steps [10] were reported and are in no event"]


@pytest.mark.ring("all")
def test_lost_steps_that_are_not_exact_are_found(restarted: RunFolder, tmp_path: Path) -> None:
    restarted.events.write_text(restarted.events.read_text().replace('"lost_steps":3', '"lost_steps":2'))
    (found,) = faults_of(restarted, tmp_path)
    assert "resumed at 5 after step 8" in found


@pytest.mark.ring("all")
def test_a_restart_without_its_event_is_found(restarted: RunFolder, tmp_path: Path) -> None:
    lines = restarted.events.read_text().splitlines(keepends=True)
    restarted.events.write_text("".join(line for line in lines if "resumed" not in line))
    assert faults_of(restarted, tmp_path) == ["attempt 2 took step 6 first after no resumption"]


@pytest.mark.ring("all")
def test_an_attempt_that_began_twice_is_found(restarted: RunFolder, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger" / restarted.path.name
    ledger.write_text(ledger.read_text() + "began 2 77 5\n")
    assert faults_of(restarted, tmp_path) == ["run 1: attempt 2 began 2 times"]


@pytest.mark.ring("all")
def test_an_attempt_that_went_on_beside_a_later_one_is_found(restarted: RunFolder, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger" / restarted.path.name
    ledger.write_text(ledger.read_text() + ledger.read_text().splitlines()[1] + "\n")
    assert faults_of(restarted, tmp_path) == ["run 1: an attempt of the program went on beside a later one"]


@pytest.mark.ring("all")
def test_a_second_end_is_found_unless_no_agent_could_record_the_first_one(restarted: RunFolder, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger" / restarted.path.name
    lines = ledger.read_text().splitlines(keepends=True)
    second = next(place for place, line in enumerate(lines) if line.startswith("began 2"))
    ledger.write_text("".join([*lines[:second], "ended 1 77 8\n", *lines[second:]]))
    assert faults_of(restarted, tmp_path) == ["run 1: the program came to its end 2 times"]
    restarted.events.write_text(restarted.events.read_text().replace('"world": 1', '"world": 2', 1))
    (restarted.path / "attempts" / "1.exit-0").write_text("0")
    assert faults_of(restarted, tmp_path) == []


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(("way", "twice"), [("log", True), ("lines", False)])
def test_only_lines_that_an_agent_reads_may_be_there_again(tmp_path: Path, way: str, twice: bool) -> None:
    folder = folder_of(tmp_path, way)
    assert run_agent(folder) == 0
    *lines, last = folder.events.read_text().splitlines(keepends=True)
    folder.events.write_text("".join([*lines, lines[-1], last]))
    assert bool(faults_of(folder, tmp_path)) == twice


def test_agents_and_ranks_are_told_apart(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "log", steps=100_000)
    with agent(folder) as child:
        wait_for("the first step", lambda: bool(steps_written(events(folder.path))), 120)
        (rank,) = ranks_of(str(folder.path))
        assert (agents_of(str(folder.path)), os.getpgid(rank)) == ([child.pid], rank)
    wait_for("the end of the rank", lambda: not ranks_of(str(folder.path)), 120)


def test_every_variant_of_the_load_is_a_valid_program_and_fits_on_a_host(tmp_path: Path) -> None:
    dice, seen, forms = random.Random(1), set[str](), set[str]()
    for _ in range(150):
        chosen = choose(dice, tmp_path)
        spec = ExperimentSpec.model_validate_json(chosen.document)
        assert isinstance(spec.base, ProgramSpec)
        assert (spec.pack or 1) * spec.base.resources.node_ranks <= HOST_CPUS
        seen.add(chosen.variant.name)
        forms.add("pack" if spec.pack else "array" if len(spec.axes["parameters.seed"]) > 1 else "alone")
    assert (seen, forms) == ({variant.name for variant in VARIANTS}, {"pack", "array", "alone"})


WORKER = """
import sys
from pathlib import Path
import scheduler.submit.submission
from tests.testing.faults.programs.changed_tools import ChangedTools
ChangedTools(Path(sys.argv[1])).patch()
scheduler.submit.submission.install_tools(Path(sys.argv[2]))
"""


def install(home: Path, runs: Path) -> int:
    return subprocess.run([sys.executable, "-B", "-c", WORKER, str(home), str(runs)], cwd=ROOT).returncode


@pytest.mark.ring("all")
def test_a_worker_that_dies_in_the_copy_leaves_a_draft_and_the_next_one_a_whole_version(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (tmp_path / GENERATION).write_text('"""Version 1."""\n')
    (tmp_path / INTERRUPT).write_text("7")
    assert install(tmp_path, runs) == -9
    (draft,) = (runs / TOOLS).iterdir()
    assert (draft.name[0], len(list(draft.rglob("*.py")))) == (".", 7)
    assert install(tmp_path, runs) == 0
    (version,) = [place for place in (runs / TOOLS).iterdir() if place != draft]
    assert damaged_versions(runs) == []
    (version / "agent" / "__main__.py").write_text("")
    assert damaged_versions(runs) == [version.name]


def test_a_copy_that_nobody_makes_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.testing.faults.programs.mishaps.PICKED_UP_S", 0.1)
    nothing = cast(Any, None)
    service = cast(Service, SimpleNamespace(environment={"BIGBATCH_HOME": str(tmp_path)}))
    assert not tools_interrupted(Field(service, nothing, nothing, nothing, random.Random(1)))
    assert not (tmp_path / INTERRUPT).exists()


def test_faults_of_programs_befall_programs_alone() -> None:
    runs = [{"id": 1}, {"id": 2}, {"id": 3}]

    def get(path: str, **_: object) -> dict[str, Any]:
        return {"items": runs} if path == "/runs" else {"id": int(path.rpartition("/")[2])}

    nothing = cast(Any, None)
    field = Field(cast(Service, SimpleNamespace(get=get)), nothing, nothing, nothing, random.Random(1))
    field.engines, field.programs, field.hostile = [1], {2: "plain"}, {3: "an attack"}
    assert [field.running(kind="program"), field.running(kind="engine")] == [{"id": 2}, {"id": 1}]
