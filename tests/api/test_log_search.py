"""The search in a run's log: rank, text and level, on logs of any size within a budget."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.logs import search
from contract.folder.run_folder import RunFolder
from store.session import transaction
from store.tables.runs import Run

LOG = """\
0: step 1 loss 2.3
1: step 1 loss 2.4
1: WARNING a slow disk
0: 2026-01-05 12:00:00 - INFO - Saving
 1: Traceback (most recent call last):
0: step 2 loss 2.2
 1:   File "train.py", line 5, in <module>
 1:     raise ValueError("bad batch")
 1: ValueError: bad batch
srun: error: n2: task 1: Exited with exit code 1
"""


@pytest.fixture
def log(failed_run: RunFolder, sqlite_engine: Engine) -> Path:
    """Return the log of run 1, which Slurm carried out."""
    with transaction(sqlite_engine) as db:
        db.get_one(Run, 1).cluster = "slurm"
    failed_run.log.write_text(LOG)
    return failed_run.log


def part(client: TestClient, **query: Any) -> dict[str, Any]:
    answer = client.get("/api/v1/runs/1/log", params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def lines(client: TestClient, **query: Any) -> list[str]:
    return str(part(client, **query)["text"]).splitlines()


def test_the_lines_of_one_rank(client: TestClient, log: Path) -> None:
    assert lines(client, rank=0) == [line for line in LOG.splitlines() if line.startswith("0: ")]
    assert len(lines(client, rank=1)) == 6
    assert part(client, rank=7)["text"] == ""
    assert part(client, rank=7)["names_ranks"] is True


def test_a_text_is_found_whatever_its_capitals(client: TestClient, log: Path) -> None:
    assert lines(client, search="LOSS") == [LOG.splitlines()[number] for number in (0, 1, 5)]
    log.write_text("0: Größe\n0: GRÖSSE\n0: other\n")
    assert lines(client, search="grösse") == ["0: Größe", "0: GRÖSSE"]


def test_a_traceback_is_an_error_as_a_whole_among_lines_of_other_ranks(client: TestClient, log: Path) -> None:
    assert lines(client, level="error") == [LOG.splitlines()[number] for number in (4, 6, 7, 8, 9)]
    assert lines(client, level="warning")[0] == "1: WARNING a slow disk"
    assert lines(client, level="error", rank=0) == []
    assert lines(client, level="debug") == LOG.splitlines()


def test_the_agent_labels_the_lines_of_a_launchers_ranks(client: TestClient, log: Path, sqlite_engine: Engine) -> None:
    make_program(sqlite_engine, launcher="torchrun", resources={"kind": "slurm", "nodes": 2})
    log.write_text("1: [rank1]: Traceback (most recent call last):\n0: no rank\n")
    assert lines(client, rank=1) == ["1: [rank1]: Traceback (most recent call last):"]
    assert lines(client, rank=0) == ["0: no rank"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_on_this_machine_lines_have_labels_where_a_program_has_several_ranks(
    client: TestClient, failed_run: RunFolder, sqlite_engine: Engine, ranks: int
) -> None:
    failed_run.log.write_text("0: step 1\n1: step 1\n")
    assert (part(client, rank=1)["text"], part(client, rank=1)["names_ranks"]) == ("1: step 1\n", True)
    make_program(sqlite_engine, resources={"kind": "local", "ranks_per_node": ranks})
    found = ("1: step 1\n", True) if ranks > 1 else ("", False)
    assert (part(client, rank=1)["text"], part(client, rank=1)["names_ranks"]) == found


def make_program(engine: Engine, **fields: Any) -> None:
    """Let run 1 be a program with these fields."""
    with transaction(engine) as db:
        run = db.get_one(Run, 1)
        run.spec = {**run.spec, "kind": "program", **fields}


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("block", [3, 7, 64, 1 << 18])
def test_blocks_of_any_size_give_the_same_lines(
    client: TestClient, log: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(search, "BLOCK", block)
    assert lines(client, level="debug") == LOG.splitlines()
    log.write_text("\n" + LOG.rstrip() + "\n\n")
    assert lines(client, level="debug") == ["", *LOG.splitlines(), ""]


def test_a_search_that_finds_too_much_is_continued(client: TestClient, log: Path) -> None:
    found: list[str] = []
    before, notes = None, []
    while before != 0:
        one = part(client, level="debug", limit=60, **({} if before is None else {"before": before}))
        found = [*one["text"].splitlines(), *found]
        before = one["offset"]
        notes.append(one["note"])
    assert found == LOG.splitlines()
    assert notes[-1] is None
    assert notes[0].startswith("the search read the last ")


def test_a_search_ends_at_its_budget_and_says_so(
    client: TestClient, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "BLOCK", 1000)
    monkeypatch.setattr(search, "BUDGET_BYTES", 10_000)
    log.write_text("0: needle\n" + "0: hay\n" * 10_000)
    one = part(client, search="needle")
    assert (one["text"], one["next"] - one["offset"] <= 11_000) == ("", True)
    assert one["note"] == f"the search read the last {70_010 - one['offset']:,} of 70,010 bytes; " + (
        f"before={one['offset']} continues it"
    )


def test_a_log_without_line_ends_is_searched_to_its_beginning(
    client: TestClient, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: one line is longer than the budget of a search."""
    monkeypatch.setattr(search, "BLOCK", 100)
    monkeypatch.setattr(search, "BUDGET_BYTES", 1_000)
    log.write_text("x" * 5_000)
    offsets = [5_000]
    while offsets[-1] > 0:
        offsets.append(part(client, search="y", before=offsets[-1])["offset"])
        assert offsets[-1] < offsets[-2]


def test_new_lines_are_searched_from_the_last_end_on(client: TestClient, log: Path) -> None:
    end = part(client, rank=0)["next"]
    with log.open("a") as file:
        file.write("1: step 3\n0: step 3\n0: st")
    new = part(client, rank=0, offset=end)
    assert new["text"] == "0: step 3\n"
    with log.open("a") as file:
        file.write("ep 4\n")
    assert part(client, rank=0, offset=new["next"])["text"] == "0: step 4\n"


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("block", [3, 7, 64, 1 << 18])
def test_of_a_line_that_was_overwritten_its_last_frame_is_searched_and_shown_with_its_rank(
    client: TestClient, log: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(search, "BLOCK", block)
    frames = "".join(f"\r{percent}%|####  | {percent}/100 ERROR" for percent in range(100))
    log.write_text(f"0: begin\n 1: {frames}\r100%|######| 100/100\n0: a line of Windows\r\n0: 7%\r8%\r\n")
    shown = ["0: begin", " 1: 100%|######| 100/100", "0: a line of Windows", "0: 8%"]
    assert lines(client, level="debug", offset=0) == shown
    assert lines(client, rank=1) == shown[1:2]
    assert lines(client, level="error") == []
    assert lines(client, search="99%") == []


def test_a_line_of_8_kib_and_more_is_cut_and_the_answer_says_so(client: TestClient, log: Path) -> None:
    log.write_text("0: needle " + "x" * 100_000 + "\n0: needle" + "y" * (search.MAX_LINE - 9) + "\n")
    long, whole = lines(client, search="needle")
    assert long == ("0: needle " + "x" * 100_000)[: search.MAX_LINE] + " … [the line is longer than 8,192 bytes]"
    assert whole == "0: needle" + "y" * (search.MAX_LINE - 9)
