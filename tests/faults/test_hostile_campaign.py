"""The campaign of hostile runs (`make fuzz`): what it plants, what it finds, and a short one that finds nothing."""

import re
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import httpx
import pytest

import contract.folder
from tests.testing.faults.hostile_plants import (
    CONTENTS,
    EVENTS,
    FILES,
    FOLDERS,
    IN_PLACE,
    OF_FOLDERS,
    carry_out,
    choose,
)
from tests.testing.faults.hostile_watch import MEMORY, Watch
from tests.testing.service import Service

NAME = re.compile(r"^(\S+?)(?:, (\.\w+))?  +\S", re.MULTILINE)


def documented() -> set[str]:
    """Return the files and folders of a run's folder that the contract names, of attempt 1 and rank 0 or 1."""
    found = set()
    for name, other in NAME.findall(contract.folder.__doc__ or ""):
        rank = "1" if name.startswith(("points/", "times/")) else "0"
        one = name.replace("/N.", "/1.").replace("-R", f"-{rank}").replace("HOST", "h").rstrip("/")
        found |= {one, one.rpartition(".")[0] + other} if other else {one}
    return found


def test_each_file_of_the_contract_is_attacked() -> None:
    assert len(documented()) > 30
    assert documented() <= {*FILES, *FOLDERS}


def test_the_generator_takes_every_kind_and_place_and_the_same_seed_gives_the_same() -> None:
    names = [plant.name for seed in range(20_000) for plant in choose(seed)]
    kinds = {name.rpartition(": ")[2] for name in names}
    assert {*IN_PLACE, *OF_FOLDERS, *CONTENTS, *(f"a flood of {kind}" for kind in EVENTS)} <= kinds
    assert {*FILES} <= {name.partition(":")[0] for name in names}
    assert [plant.name for plant in choose(7)] == [plant.name for plant in choose(7)]


def test_what_was_planted_is_there(tmp_path: Path) -> None:
    seed = next(seed for seed in range(10_000) if [one.name for one in choose(seed)] == ["outputs.json: a FIFO"])
    carry_out(choose(seed), tmp_path)
    assert (tmp_path / "outputs.json").is_fifo()


def watch(folder: Path) -> Watch:
    (folder / "worker.log").write_text("all is well")
    return Watch(Service({"BIGBATCH_HOME": str(folder)}, folder), secrets=("5ecret",), payload=folder / "executed")


def test_a_calm_service_gives_no_finding(tmp_path: Path) -> None:
    one = watch(tmp_path)
    for _ in range(200):
        one.note_answer("/runs/1", 0.1, 1000)
    one.look_at_logs()
    assert one.report().endswith("no finding")


def test_each_bound_that_is_broken_is_a_finding(tmp_path: Path) -> None:
    one = watch(tmp_path)
    for seconds in [0.1] * 90 + [3.0] * 10:
        one.note_answer("/runs/1", seconds, 1000)
    one.look_for_secrets("/runs/1/log", "the 5ecret")
    one.memory["worker"] = MEMORY["worker"] + 1
    (tmp_path / "worker.log").write_bytes(b"x" * (2 << 20))
    one.look_at_logs()
    text = one.report()
    for kind in ("slow answers", "a secret", "memory", "long logs"):
        assert f"FINDING {kind}" in text
    assert one.findings


def test_points_that_wait_longer_than_five_seconds_are_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the service has stored the first step only, and the second was written ten seconds ago."""
    at = time.time()
    lines = [f'{{"kind": "points", "step": {step}, "at": {at - 10 * (step - 1)}}}\n' for step in (1, 2)]
    (tmp_path / "events.jsonl").write_text("".join(lines))
    one, over = watch(tmp_path), Event()

    def ask(self: Service, method: str, path: str) -> httpx.Response:
        over.set()
        return httpx.Response(200, json={"step": 1})

    monkeypatch.setattr(Service, "ask", ask)
    monkeypatch.setattr(over, "wait", lambda _: over.is_set())
    (tmp_path / "executed").touch()
    one.run(over, {1: tmp_path})
    assert {*one.findings} == {"late points", "executed"}
    assert one.lateness_s >= 10


@pytest.mark.flow
@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_minute_of_hostile_runs_gives_no_finding() -> None:
    command = [sys.executable, "-m", "tests.testing.faults.hostile_campaign", "--minutes", "1", "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
