"""The folder broker: readers get complete messages under any load, and an incomplete message stops no reader."""

import threading
from pathlib import Path

import pytest
from kombu import Connection

from scheduler.folder_broker import URL


# kombu remembers which queues it has declared for as long as the process lives: every test has a queue of its own
@pytest.fixture
def options(tmp_path: Path) -> dict[str, object]:
    for name in ("queue", "control"):
        (tmp_path / name).mkdir()
    queue = str(tmp_path / "queue")
    return {"data_folder_in": queue, "data_folder_out": queue, "control_folder": str(tmp_path / "control")}


@pytest.mark.ring("all")
def test_every_message_arrives_complete_while_others_are_written(options: dict[str, object]) -> None:
    """Forces the race that breaks kombu's own transport: a reader reads while four writers write."""
    count, received = 200, []

    def write() -> None:
        with Connection(URL, transport_options=options) as connection, connection.SimpleQueue("race") as queue:
            for number in range(count):
                queue.put({"number": number, "padding": "x" * 20_000})

    writers = [threading.Thread(target=write) for _ in range(4)]
    with Connection(URL, transport_options=options) as connection, connection.SimpleQueue("race") as queue:
        for writer in writers:
            writer.start()
        for _ in range(4 * count):
            message = queue.get(timeout=90)
            received.append(message.payload["number"])
            message.ack()
    assert sorted(received) == sorted(4 * list(range(count)))


@pytest.mark.ring("all")
def test_an_incomplete_message_is_dropped(options: dict[str, object], tmp_path: Path) -> None:
    """Forces the fault: the queue has an empty message before a complete one."""
    with Connection(URL, transport_options=options) as connection, connection.SimpleQueue("torn") as queue:
        queue.put({"number": 1})
        (tmp_path / "queue" / "0_torn.torn.msg").touch()
        assert queue.get(timeout=90).payload == {"number": 1}


def test_no_other_user_may_read_a_message(options: dict[str, object], tmp_path: Path) -> None:
    with Connection(URL, transport_options=options) as connection, connection.SimpleQueue("private") as queue:
        queue.put({"number": 1})
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert {path.suffix for path in files} == {".msg", ".exchange"}
        assert not [path.name for path in files if path.stat().st_mode & 0o077]
        queue.get(timeout=90).ack()
