"""GET /runs/ID/chunks: the states that rank 0 of a run over a volume wrote, and null for everything else."""

from fastapi.testclient import TestClient

from contract.folder.chunk_states import ChunkStates, StageProgress
from contract.folder.run_folder import RunFolder

PATH = "/api/v1/runs/1/chunks"


def test_the_states_of_the_chunks_are_those_of_the_runs_folder(client: TestClient, failed_run: RunFolder) -> None:
    assert client.get(PATH).json() is None
    stages = [StageProgress(name="chunks", done=2, tasks=4)]
    failed_run.write_chunks(ChunkStates(counts=[1, 2, 2], states="dlwd", stages=stages, taken_over=3))
    assert client.get(PATH).json() == {
        "counts": [1, 2, 2],
        "states": "dlwd",
        "stages": [{"name": "chunks", "done": 2, "tasks": 4}],
        "taken_over": 3,
    }


def test_a_damaged_file_counts_as_none(client: TestClient, failed_run: RunFolder) -> None:
    """Fault: a job writes fewer states than chunks."""
    (failed_run.path / "chunks.json").write_text('{"counts":[1,2,2],"states":"dw","stages":[],"taken_over":0}')
    answer = client.get(PATH)
    assert (answer.status_code, answer.json()) == (200, None)


def test_a_run_that_is_not_there_has_no_chunks(client: TestClient) -> None:
    assert client.get("/api/v1/runs/9/chunks").status_code == 404
