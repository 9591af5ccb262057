"""Programs of others run as they are: from the launch line to the curve, through a kill and a stop.

The last test compares the table in docs/programs.md with what was seen. `BIGBATCH_TABLE=FILE` collects in FILE what
several runs of parts of these tests see, and then writes the table.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.testing.frameworks import FRAMEWORKS, TRACKIO, make_environment
from tests.testing.real_programs import PROGRAMS, Place, Program, Seen
from tests.testing.service import running

pytestmark = [pytest.mark.flow, pytest.mark.slurm, pytest.mark.long]
SCRIPTS = Path(__file__).parent / "real_programs"
DOCS = Path(__file__).parents[2] / "docs" / "programs.md"
BEGIN, END = "<!-- written by tests/flow/test_real_programs.py -->\n", "<!-- end -->\n"
PLACES = ("local", "lab")
SEEN: dict[tuple[str, str], Seen] = {}


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    folder = tmp_path_factory.mktemp("environments")
    return {
        False: make_environment(folder / "frameworks", FRAMEWORKS),
        True: make_environment(folder / "trackio", TRACKIO),
    }


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a git repository with the scripts, as their user has it."""
    folder = tmp_path_factory.mktemp("project") / "programs"
    subprocess.run(["cp", "-r", SCRIPTS, folder], check=True)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module", params=PLACES)
def place(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    environments: dict[bool, Path],
    project: Path,
) -> Iterator[Place]:
    settings = {"BIGBATCH_SLURM": "false", "BIGBATCH_LOCAL_RANKS": "4"}
    options, one = ("--ranks-per-node", "2"), ()
    if request.param == "lab":
        setup = "export GLOO_SOCKET_IFNAME=eth0;;export OMP_NUM_THREADS=1"
        settings = {**request.getfixturevalue("lab"), "BIGBATCH_SLURM": "true", "BIGBATCH_SLURM_SETUP": setup}
        one = ("--partition", "gpu", "--minutes", "30")
        options = (*one, "--nodes", "2", "--ranks-per-node", "1")
    with running(tmp_path_factory.mktemp(request.param), settings) as service:
        yield Place(request.param, service, project, environments, options, one)


def log_of(place: Place, run: dict[str, Any]) -> str:
    return (place.folder(run) / "out.log").read_text(errors="replace")


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_a_program_of_others_sweeps_logs_is_killed_stops_and_resumes_as_it_is(place: Place, program: Program) -> None:
    stopped, finished = place.launch(program, program.sweep)
    place.await_checkpoint(stopped, program)
    place.service.stop(stopped["id"])
    assert place.service.wait_for_end(stopped["id"])["state"] == "cancelled", place.service.story(stopped["id"])
    place.service.ask("POST", f"/runs/{stopped['id']}/retry").raise_for_status()
    ends = [place.service.wait_for_end(run["id"], patience_s=600) for run in (stopped, finished)]
    assert [end["state"] for end in ends] == ["done", "done"], [place.service.story(end["id"]) for end in ends]

    found = re.findall(r"resumes at step (\d+)", log_of(place, stopped))
    assert found, log_of(place, stopped)[-3000:]
    assert int(found[-1]) > 0
    assert not re.search(r"resumes at step", log_of(place, finished))
    metrics = metrics_of(place, finished, program)

    ours, theirs = place.written(stopped), place.written(finished)
    assert not ours.keys() & theirs.keys(), [ours[one] for one in ours.keys() & theirs.keys()]
    status = ["git", "status", "--porcelain", "--ignored"]
    assert subprocess.run(status, cwd=place.project, capture_output=True, text=True).stdout == ""
    files = place.service.get(f"/runs/{finished['id']}/files")
    assert any(Path(one["path"]).match(program.saved) for one in files["items"]), files

    (killed,) = place.launch(program, f"{program.sweep.split(',')[0]}")
    place.await_checkpoint(killed, program)
    rank = place.kill_rank(killed, program)
    end = place.service.wait_for_end(killed["id"])
    assert end["state"] == "failed", place.service.story(killed["id"])
    assert (end["failure"]["rank"], end["failure"]["kind"]) == (rank, "signal"), end["failure"]
    assert "SIGKILL" in end["failure"]["reason"], end["failure"]
    SEEN[program.name, place.name] = Seen(metrics, f"rank {rank}, SIGKILL", int(found[-1]))


@pytest.mark.parametrize("launcher", ["srun", "torchrun"])
def test_an_exception_of_a_rank_is_named_and_not_the_lost_connection_of_another(place: Place, launcher: str) -> None:
    program = Program("raises", "python ddp_raises.py {lr}", "", launcher=launcher)
    (run,) = place.launch(program, "lr=1")
    end = place.service.wait_for_end(run["id"])
    assert end["state"] == "failed", place.service.story(run["id"])
    assert (end["failure"]["rank"], end["failure"]["kind"]) == (1, "python_error"), end["failure"]
    assert "ValueError: lr is negative" in end["failure"]["reason"], end["failure"]
    assert "1: [rank1]: ValueError: lr is negative" in log_of(place, run)


def test_hydras_launcher_submits_jobs_that_know_nothing_of_the_run_and_its_page_lists_them(place: Place) -> None:
    if place.name != "lab":
        pytest.skip("there is no Slurm")
    words = (
        "python hydra_app.py --multirun hydra/launcher=submitit_slurm hydra.launcher.partition=gpu steps=3 "
        "hydra.launcher.timeout_min=5 model.width={model.width},9"
    )
    (run,) = place.launch(Program("Hydra", words, "", launcher="plain", ranks=1), "model.width=3")
    end = place.service.wait_for_end(run["id"])
    assert end["state"] == "done", place.service.story(run["id"])
    (job,) = place.service.get(f"/runs/{run['id']}/files")["jobs"]
    logs = [path.read_text() for path in (place.folder(run) / "work").rglob(f"{job['id']}_*_log.out")]
    assert len(logs) == 2, list((place.folder(run) / "work").rglob("*"))
    assert all("step 3 loss" in text for text in logs), logs
    assert not any("BIGBATCH_RUN_FOLDER" in text or "RANK=" in text for text in logs), logs


def metrics_of(place: Place, run: dict[str, Any], program: Program) -> str:
    """Return where the program's metrics come from; fail unless they arrive or a line says how they could."""
    page = place.service.get(f"/runs/{run['id']}")
    if program.series:
        assert program.series in page["latest"], (page["latest"], place.service.story(run["id"]))
        assert page["step"] >= 55
        return "output, `--metric`" if "--metric" in program.options else "its event files, by themselves"
    assert not [name for name in page["latest"] if not name.startswith("system/")], page["latest"]
    assert f"logs to {program.says}" in page["unread"]["sentence"], page
    assert re.search(rf"^(\d+: )?bigbatch: .*logs to {program.says}", log_of(place, run), re.M), log_of(place, run)[
        -3000:
    ]
    return "none; a line says what to change"


def table(seen: dict[tuple[str, str], Seen]) -> str:
    head = "| program | launch line's part | metrics | killed rank named | stop, then resume | files apart |\n"
    lines = [head, "|---|---|---|---|---|---|\n"]
    for program in PROGRAMS:
        places = [place for place in PLACES if (program.name, place) in seen]
        where = " and ".join(places)
        metrics = seen[program.name, places[0]].metrics
        lines.append(
            f"| {program.name} | `--launcher {program.launcher}` | {metrics} | {where} | {where} | {where} |\n"
        )
    return "".join(lines)


def test_the_table_of_the_docs_is_what_was_seen() -> None:
    collected = os.environ.get("BIGBATCH_TABLE")
    if collected:
        collect(Path(collected))
    if len(SEEN) < len(PROGRAMS) * len(PLACES):
        pytest.skip("the table needs every program at every place")
    text = DOCS.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    expected = before + BEGIN + table(SEEN) + END + after
    if collected:
        DOCS.write_text(expected)
    assert DOCS.read_text() == expected


def collect(path: Path) -> None:
    """Add what earlier runs have seen, and store all of it."""
    before = json.loads(path.read_text()) if path.exists() else {}
    stored = before | {"|".join(key): list(seen) for key, seen in SEEN.items()}
    path.write_text(json.dumps(stored))
    for key, seen in stored.items():
        name, _, place = key.rpartition("|")
        SEEN[name, place] = Seen(*seen)
