"""Checkpoints on disk: what was written comes back, and nothing else ever does."""

import json
import os
import random
import resource
import signal
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import torch

from trainers.checkpoints import durable_file as durable
from trainers.checkpoints import rng_state as randomness
from trainers.checkpoints.checkpoint_directory import MANIFEST, SHARED, Damaged, Manifest, Shelf, State, own

STATE = {"weights": torch.arange(1000.0), "step": 3, "groups": [{"lr": 0.1, "betas": (0.9, 0.99), "name": None}]}


def put(shelf: Shelf, step: int, *, attempt: int = 1, state: State = STATE) -> str:
    """A whole checkpoint of one rank; return its name."""
    parts = {name: shelf.write_part(step, attempt, name, state) for name in (SHARED, own(0))}
    shelf.seal(Manifest(step, attempt, 1, {"seed": 0, "rate": 0.1}, parts))
    return shelf.folder(step, attempt).name


def read(shelf: Shelf, name: str) -> list[State]:
    manifest = shelf.manifest(name)
    return [shelf.read_part(name, manifest, part) for part in manifest.parts]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "checkpoints", keep=2)


def test_what_was_written_comes_back_bit_for_bit(shelf: Shelf) -> None:
    special = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45, 3.4e38])
    state = {"x": special, "half": special.bfloat16(), "scalar": torch.tensor(2), 7: "a key that is a number"}
    (found, _) = read(shelf, put(shelf, 5, state=state))
    assert found["x"].numpy().tobytes() == special.numpy().tobytes()
    assert torch.equal(found["half"].view(torch.int16), special.bfloat16().view(torch.int16))
    assert found[7] == "a key that is a number"  # type: ignore[index]
    manifest = shelf.manifest(shelf.names()[0])
    assert (manifest.step, manifest.attempt, manifest.world, manifest.about) == (5, 1, 1, {"seed": 0, "rate": 0.1})


def test_the_newest_come_first_and_the_last_two_are_kept(shelf: Shelf) -> None:
    for step, attempt in ((10, 1), (9, 2), (10, 2), (100, 3)):
        put(shelf, step, attempt=attempt)
    assert shelf.names() == ["step-0000000100-attempt-3", "step-0000000010-attempt-2"]
    assert sorted(path.name for path in shelf.folder(0, 0).parent.iterdir()) == sorted(shelf.names())


def test_parts_without_a_manifest_are_no_checkpoint(shelf: Shelf) -> None:
    shelf.write_part(5, 1, SHARED, STATE)
    assert shelf.names() == []
    put(shelf, 6, attempt=2)
    assert not shelf.folder(5, 1).exists(), "what a dead attempt left half done is cleared away"


@pytest.mark.parametrize("name", [SHARED, own(0), MANIFEST])
def test_a_file_cut_anywhere_is_noticed(name: str, shelf: Shelf) -> None:
    """Forces the fault: the file ends at its first byte, its last, and a hundred places between."""
    checkpoint = put(shelf, 5)
    path = shelf.folder(5, 1) / name
    whole = path.read_bytes()
    for length in {0, 1, len(whole) - 1, *range(0, len(whole), max(1, len(whole) // 100))}:
        path.write_bytes(whole[:length])
        with pytest.raises(Damaged, match=name):
            read(shelf, checkpoint)


@pytest.mark.parametrize("name", [SHARED, own(0), MANIFEST])
def test_a_bit_flipped_anywhere_is_noticed(name: str, shelf: Shelf) -> None:
    """Forces the fault: one wrong bit in each of two hundred regions of the file, and in its first and last bytes."""
    checkpoint = put(shelf, 5)
    path = shelf.folder(5, 1) / name
    whole = path.read_bytes()
    for place in {*range(16), len(whole) - 1, *range(0, len(whole), max(1, len(whole) // 200))}:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        if name == MANIFEST and json_equal(bytes(flipped), whole):
            continue  # white space between two fields
        with pytest.raises(Damaged, match=name):
            read(shelf, checkpoint)


def json_equal(one: bytes, other: bytes) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def test_a_part_that_is_gone_is_noticed(shelf: Shelf) -> None:
    checkpoint = put(shelf, 5)
    (shelf.folder(5, 1) / own(0)).unlink()
    with pytest.raises(Damaged, match="No such file"):
        read(shelf, checkpoint)


def test_a_full_disk_is_an_os_error_and_leaves_no_file(shelf: Shelf) -> None:
    """Forces the fault: no file of this process may grow beyond 10 kB, which the weights do."""
    with limited(10_000), pytest.raises(OSError, match="File too large"):
        shelf.write_part(5, 1, SHARED, {"weights": torch.zeros(100_000)})
    assert list(shelf.folder(5, 1).iterdir()) == []
    put(shelf, 6)


class limited:  # noqa: N801  # reads as a word
    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes

    def __enter__(self) -> None:
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size_bytes, self.before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)
        signal.signal(signal.SIGXFSZ, self.handler)


@pytest.mark.parametrize("death", range(1, 25))
def test_a_death_at_any_call_leaves_the_checkpoint_before_whole(death: int, tmp_path: Path) -> None:
    """Forces the fault: the process is gone (os._exit) at the death-th system call of its second checkpoint."""
    shelf = Shelf(tmp_path, keep=1)
    first = put(shelf, 1)
    child = get_context("fork").Process(target=save_until_death, args=(tmp_path, death))
    child.start()
    child.join()
    names = shelf.names()
    assert names
    assert names[-1] == first or child.exitcode == 0 or names == [shelf.folder(2, 1).name]
    for name in names:
        assert torch.equal(read(shelf, name)[0]["weights"], STATE["weights"])
    put(shelf, 3, attempt=2)
    assert shelf.names() == [shelf.folder(3, 2).name]


def save_until_death(path: Path, death: int) -> None:
    calls = 0

    def counted(call):  # type: ignore[no-untyped-def]
        def wrapper(*args: object, **kwargs: object) -> object:
            nonlocal calls
            calls += 1
            if calls == death:
                os._exit(9)
            return call(*args, **kwargs)

        return wrapper

    durable.os.fsync = counted(os.fsync)  # type: ignore[attr-defined]
    durable.Hashed.write = counted(durable.Hashed.write)  # type: ignore[method-assign]
    durable.sync_folder = counted(durable.sync_folder)
    Path.replace = counted(Path.replace)  # type: ignore[method-assign]
    put(Shelf(path, keep=1), 2)


def test_generators_go_on_where_they_stood(shelf: Shelf) -> None:
    device = torch.device("cpu")
    random.gauss(0, 1)  # leaves half a pair behind
    np.random.standard_normal()
    state = randomness.capture(device)
    (found, _) = read(shelf, put(shelf, 1, state=state))
    wanted = draws()
    randomness.restore(found, device)
    assert draws() == wanted


def draws() -> list[float]:
    return [
        random.gauss(0, 1),
        random.random(),
        np.random.standard_normal(),
        np.random.rand(),
        torch.rand(3).sum().item(),
    ]


def test_a_seed_is_another_for_every_rank_and_step() -> None:
    seen = set()
    for rank in range(4):
        for step in (0, 1, 100):
            randomness.seed(7, rank=rank, step=step)
            seen.add(tuple(draws()))
    assert len(seen) == 12
    randomness.seed(7, rank=3, step=100)
    assert tuple(draws()) in seen
