"""TensorBoard's event files, read while they grow: no scalar is lost or doubled, and no other record disturbs."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.sources import records, tensorboard
from agent.sources.records import MAX_RECORD_BYTES, masked_checksum, read_records
from agent.sources.summaries import scalars_of
from tests.agent.sources.conftest import Open
from tests.testing.event_files import append, event, field, record, scalars, simple_value, tensor_value, varint

SPEC = {"kind": "tensorboard"}
NAME = "events.out.tfevents.1700000000.host.1.0"
Points = Callable[[], list[tuple[int, dict[str, float | None]]]]
RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture(autouse=True)
def _search_at_each_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensorboard, "SEARCH_S", 0.0)


def test_the_checksum_is_the_published_one() -> None:
    crc = 0xE3069283  # of "123456789", RFC 3720
    assert masked_checksum(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@pytest.mark.parametrize("name", ["torch", "tensorboardX"])
def test_files_of_real_writers_are_read(open_sources: Open, folder: Path, points: Points, name: str) -> None:
    """Recorded by tests/agent/sources/recorded/record.py with torch and tensorboardX."""
    append(folder / NAME, b"")
    (folder / NAME).write_bytes((RECORDED / f"{name}.tfevents").read_bytes())
    open_sources(SPEC).poll()
    assert points() == [(step, {"train/loss": pytest.approx(1 / step), "lr": 0.5}) for step in (1, 2, 3)]


def test_scalars_are_read_as_they_appear(open_sources: Open, folder: Path, points: Points) -> None:
    sources = open_sources(SPEC)
    for step in range(1, 6):
        append(folder / "runs" / "Nov25_13-37-00_host" / NAME, scalars(step, {"loss": 1 / step, "lr": 0.5}))
        sources.poll()
    assert points() == [(step, {"loss": pytest.approx(1 / step), "lr": 0.5}) for step in range(1, 6)]


def test_a_torn_record_waits_for_its_end(open_sources: Open, folder: Path, points: Points) -> None:
    """Forces the fault: the program is seen at each byte of a write."""
    sources, data = open_sources(SPEC), scalars(1, {"loss": 0.5})
    for place in range(len(data)):
        append(folder / NAME, data[place : place + 1])
        sources.poll()
        assert points() == ([(1, {"loss": 0.5})] if place == len(data) - 1 else [])


def test_subfolders_name_their_metrics(open_sources: Open, folder: Path, points: Points) -> None:
    for name in ("train", "validation", "lightning_logs/version_3", "checkpoints/runs/Nov25_13-37-00_host/loss_a"):
        append(folder / name / NAME, scalars(1, {"loss": 0.5}))
    open_sources(SPEC).poll()
    ((_, values),) = points()
    assert values.keys() == {"loss", "train/loss", "validation/loss", "loss_a/loss"}


@pytest.mark.parametrize(
    ("dtype", "content", "value"),
    [
        (1, field(4, struct.pack("<f", 0.5)), 0.5),
        (2, field(4, struct.pack("<d", 0.1)), 0.1),
        (3, field(4, struct.pack("<i", -3)), -3.0),
        (9, field(4, struct.pack("<q", 2**40)), float(2**40)),
        (19, field(4, struct.pack("<e", 0.25)), 0.25),
        (14, field(4, struct.pack("<f", 1.5)[2:]), 1.5),
        (1, field(5, struct.pack("<f", 0.75)), 0.75),
        (1, varint(5 << 3 | 5) + struct.pack("<f", 0.75), 0.75),
        (2, field(6, struct.pack("<d", 7.0)), 7.0),
        (3, field(7, varint(-2)), -2.0),
        (9, varint(10 << 3) + varint(5), 5.0),
    ],
)
def test_a_tensor_of_one_element_is_a_scalar(dtype: int, content: bytes, value: float) -> None:
    point = scalars_of(event(3, tensor_value("loss", dtype, content)))
    assert point is not None
    assert (point.step, point.values, point.at) == (3, {"loss": value}, 100.0)


@pytest.mark.parametrize(
    "data",
    [
        event(1, tensor_value("histogram", 2, field(4, bytes(8 * 30)))),
        event(1, tensor_value("text", 7, field(8, b"a text"))),
        event(1, field(1, b"image") + field(4, b"png")),
        event(1, simple_value("a\x00b", 1.0)),
        event(1, simple_value("a" * 201, 1.0)),
        event(-1, simple_value("loss", 1.0)),
        event(2**31, simple_value("loss", 1.0)),
        event(1, simple_value("loss", 1.0))[:-1],
        b"\xff" * 30,
        b"\x07",
        b"",
    ],
    ids=range(11),
)
def test_what_is_no_scalar_is_skipped(open_sources: Open, folder: Path, points: Points, data: bytes) -> None:
    append(folder / NAME, record(data) + scalars(2, {"loss": 0.5}))
    open_sources(SPEC).poll()
    assert points() == [(2, {"loss": 0.5})]


def test_a_value_that_is_not_finite_is_stored_as_such(open_sources: Open, folder: Path, points: Points) -> None:
    append(folder / NAME, scalars(1, {"loss": float("nan"), "norm": float("inf")}))
    open_sources(SPEC).poll()
    assert str(points()) == "[(1, {'loss': nan, 'norm': inf})]"


def test_large_records_and_damaged_data_are_skipped(open_sources: Open, folder: Path, points: Points) -> None:
    image = record(event(1, field(1, b"image") + field(4, bytes(3 << 20))))  # longer than one read
    damaged = bytearray(scalars(2, {"loss": 0.5}))
    damaged[-6] ^= 1
    append(folder / NAME, scalars(1, {"loss": 1.0}) + image + bytes(damaged) + scalars(3, {"loss": 0.25}))
    open_sources(SPEC).finish()
    assert points() == [(1, {"loss": 1.0}), (3, {"loss": 0.25})]


def test_a_damaged_length_hides_the_rest_and_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(scalars(1, {"loss": 1.0}) + bytes(100))
    part = read_records(str(path), 0, 1 << 20)
    assert (len(part.records), part.more) == (1, False)
    assert read_records(str(path), part.cursor, 1 << 20)[:3] == ([], part.cursor, False)


def test_one_read_is_bounded(tmp_path: Path) -> None:
    path, count = tmp_path / NAME, 6_000
    path.write_bytes(b"".join(scalars(step, {"loss": 1.0}) for step in range(count)))
    cursor, found, reads, more = 0, 0, 0, True
    while more:
        part = read_records(str(path), cursor, MAX_RECORD_BYTES + 16)
        cursor, found, reads, more = part.cursor, found + len(part.records), reads + 1, part.more
    assert found == count
    assert reads > 2


def test_no_more_files_are_read_than_the_bound(
    open_sources: Open, folder: Path, points: Points, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tensorboard, "MAX_FILES", 3)
    for number in range(5):
        append(folder / f"part{number}" / NAME, scalars(1, {"loss": 0.5}))
    open_sources(SPEC).poll()
    ((_, values),) = points()
    assert len(values) == 3


def test_of_a_folder_that_other_runs_share_only_what_is_new_is_read(
    open_sources: Open, folder: Path, points: Points, tmp_path: Path
) -> None:
    shared: Any = {"kind": "tensorboard", "folder": str(tmp_path / "shared")}
    append(tmp_path / "shared" / NAME, scalars(1, {"loss": 9.0}))
    sources = open_sources(shared)
    append(tmp_path / "shared" / NAME, scalars(2, {"loss": 0.5}))
    sources.poll()
    assert points() == [(2, {"loss": 0.5})]


def test_the_table_of_the_checksum_has_256_entries() -> None:
    assert len(set(records._TABLE)) == 256
