"""The stacks of a program's ranks, as their folder has them."""

from fastapi.testclient import TestClient

from contract.diagnosis.stacks import MAX_BYTES
from contract.folder.run_folder import RunFolder

STACKS = "/api/v1/runs/1/stacks"


def test_the_stacks_of_the_latest_attempt_are_paged_by_rank(client: TestClient, failed_run: RunFolder) -> None:
    assert client.get(STACKS).json() == {"attempt": 0, "ranks": [], "next": None}
    attempts = failed_run.path / "attempts"
    attempts.mkdir(exist_ok=True)
    for name in ("1.stacks-0.txt", "2.stacks-x.txt", "02.stacks-7.txt", "3.stacks-1.txt.tmp"):
        (attempts / name).write_text("other")
    for rank in (10, 2, 0):
        (attempts / f"2.stacks-{rank}.txt").write_bytes(f'File "train.py", line {rank}\n'.encode() + b"\xff")
    first = client.get(f"{STACKS}?limit=2").json()
    assert (first["attempt"], first["next"]) == (2, 2)
    assert [one["rank"] for one in first["ranks"]] == [0, 2]
    assert first["ranks"][1]["text"] == 'File "train.py", line 2\n\ufffd'
    last = client.get(f"{STACKS}?after=2").json()
    assert [one["rank"] for one in last["ranks"]] == [10]
    assert last["next"] is None


def test_of_huge_stacks_the_first_part_is_read(client: TestClient, failed_run: RunFolder) -> None:
    """Forces a hostile job: gigabytes of stacks."""
    (failed_run.path / "attempts").mkdir(exist_ok=True)
    with (failed_run.path / "attempts" / "1.stacks-0.txt").open("wb") as file:
        file.truncate(8 << 30)
    assert len(client.get(STACKS).json()["ranks"][0]["text"]) == MAX_BYTES


def test_an_unknown_run_has_no_stacks(client: TestClient) -> None:
    assert client.get("/api/v1/runs/99/stacks").status_code == 404
