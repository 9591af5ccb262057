"""Checkpoints on disk are read as they were written, or rejected as damaged."""

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

from trainers.checkpoints import durable_file
from trainers.checkpoints.checkpoint_directory import (
    MANIFEST,
    SHARED,
    CheckpointDirectory,
    DamagedCheckpoint,
    Manifest,
    PartState,
    rank_part,
)
from trainers.generators.rng_state import capture_rng_state, restore_rng_state
from trainers.generators.seeds import seed_generators

STATE = {"weights": torch.arange(1000.0), "step": 3, "groups": [{"lr": 0.1, "betas": (0.9, 0.99), "name": None}]}


def put(directory: CheckpointDirectory, step: int, *, attempt: int = 1, state: PartState = STATE) -> str:
    """Write a complete checkpoint of one rank; return its name."""
    parts = {name: directory.write_part(step, attempt, name, state) for name in (SHARED, rank_part(0))}
    directory.write_manifest(Manifest(step, attempt, 1, {"seed": 0, "rate": 0.1}, parts))
    return directory.folder(step, attempt).name


def read(directory: CheckpointDirectory, name: str) -> list[PartState]:
    manifest = directory.read_manifest(name)
    return [directory.read_part(name, manifest, part) for part in manifest.parts]


@pytest.fixture
def directory(tmp_path: Path) -> CheckpointDirectory:
    return CheckpointDirectory(tmp_path / "checkpoints", retained=2)


def test_a_checkpoint_is_read_bit_identically(directory: CheckpointDirectory) -> None:
    special = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45, 3.4e38])
    state = {"x": special, "half": special.bfloat16(), "scalar": torch.tensor(2), 7: "a key that is a number"}
    (found, _) = read(directory, put(directory, 5, state=state))
    assert found["x"].numpy().tobytes() == special.numpy().tobytes()
    assert torch.equal(found["half"].view(torch.int16), special.bfloat16().view(torch.int16))
    assert found[7] == "a key that is a number"  # type: ignore[index]
    manifest = directory.read_manifest(directory.list_complete()[0])
    assert (manifest.step, manifest.attempt, manifest.world, manifest.about) == (5, 1, 1, {"seed": 0, "rate": 0.1})


def test_the_newest_is_first_and_the_last_two_are_retained(directory: CheckpointDirectory) -> None:
    for step, attempt in ((10, 1), (9, 2), (10, 2), (100, 3)):
        put(directory, step, attempt=attempt)
    assert directory.list_complete() == ["step-0000000100-attempt-3", "step-0000000010-attempt-2"]
    assert sorted(path.name for path in directory.folder(0, 0).parent.iterdir()) == sorted(directory.list_complete())


def test_a_folder_without_a_manifest_is_no_checkpoint(directory: CheckpointDirectory) -> None:
    directory.write_part(5, 1, SHARED, STATE)
    assert directory.list_complete() == []
    put(directory, 6, attempt=2)
    assert not directory.folder(5, 1).exists(), "what a dead attempt left half done is cleared away"


def test_the_next_checkpoint_that_another_rank_writes_already_is_kept(directory: CheckpointDirectory) -> None:
    """Forces the race: rank 1 writes its part of step 41 before rank 0 has completed step 40."""
    left_behind = directory.folder(60, 1)  # an earlier attempt ended while it wrote this one
    directory.write_part(60, 1, SHARED, STATE)
    early = directory.write_part(41, 2, rank_part(1), STATE)
    put(directory, 40, attempt=2)
    assert not left_behind.exists()
    parts = {name: directory.write_part(41, 2, name, STATE) for name in (SHARED, rank_part(0))}
    directory.write_manifest(Manifest(41, 2, 2, {}, {**parts, rank_part(1): early}))
    assert len(read(directory, directory.folder(41, 2).name)) == 3


@pytest.mark.parametrize("name", [SHARED, rank_part(0), MANIFEST])
def test_a_truncated_file_is_detected(name: str, directory: CheckpointDirectory) -> None:
    """Forces truncation at the first byte, at the last byte, and at a hundred offsets between."""
    checkpoint = put(directory, 5)
    path = directory.folder(5, 1) / name
    whole = path.read_bytes()
    for length in {0, 1, len(whole) - 1, *range(0, len(whole), max(1, len(whole) // 100))}:
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedCheckpoint, match=name):
            read(directory, checkpoint)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("name", [SHARED, rank_part(0), MANIFEST])
def test_a_flipped_bit_is_detected(name: str, directory: CheckpointDirectory) -> None:
    """Forces a wrong bit in each of two hundred regions of the file, and in its first and last bytes."""
    checkpoint = put(directory, 5)
    path = directory.folder(5, 1) / name
    whole = path.read_bytes()
    for offset in {*range(16), len(whole) - 1, *range(0, len(whole), max(1, len(whole) // 200))}:
        flipped = bytearray(whole)
        flipped[offset] ^= 1 << offset % 8
        path.write_bytes(flipped)
        if name == MANIFEST and json_equal(bytes(flipped), whole):
            continue  # white space between two fields of the JSON
        with pytest.raises(DamagedCheckpoint, match=name):
            read(directory, checkpoint)


def json_equal(one: bytes, other: bytes) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def test_a_missing_part_is_detected(directory: CheckpointDirectory) -> None:
    checkpoint = put(directory, 5)
    (directory.folder(5, 1) / rank_part(0)).unlink()
    with pytest.raises(DamagedCheckpoint, match="No such file"):
        read(directory, checkpoint)


def test_a_full_disk_raises_an_os_error_and_leaves_no_file(directory: CheckpointDirectory) -> None:
    """Forces a file size limit of 10 kB, which the weights exceed."""
    with limited(10_000), pytest.raises(OSError, match="File too large"):
        directory.write_part(5, 1, SHARED, {"weights": torch.zeros(100_000)})
    assert list(directory.folder(5, 1).iterdir()) == []
    put(directory, 6)


class limited:  # noqa: N801  # a context manager, named like a function
    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes

    def __enter__(self) -> None:
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size_bytes, self.before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)
        signal.signal(signal.SIGXFSZ, self.handler)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("crash_at", range(1, 25))
def test_a_crash_at_any_call_leaves_the_previous_checkpoint_complete(crash_at: int, tmp_path: Path) -> None:
    """Forces os._exit at the given system call of the second checkpoint."""
    directory = CheckpointDirectory(tmp_path, retained=1)
    first = put(directory, 1)
    child = get_context("fork").Process(target=save_until_crash, args=(tmp_path, crash_at))
    child.start()
    child.join()
    names = directory.list_complete()
    assert names
    assert names[-1] == first or child.exitcode == 0 or names == [directory.folder(2, 1).name]
    for name in names:
        assert torch.equal(read(directory, name)[0]["weights"], STATE["weights"])
    put(directory, 3, attempt=2)
    assert directory.list_complete() == [directory.folder(3, 2).name]


def save_until_crash(path: Path, crash_at: int) -> None:
    calls = 0

    def counted(call):  # type: ignore[no-untyped-def]
        def wrapper(*args: object, **kwargs: object) -> object:
            nonlocal calls
            calls += 1
            if calls == crash_at:
                os._exit(9)
            return call(*args, **kwargs)

        return wrapper

    durable_file.os.fsync = counted(os.fsync)  # type: ignore[attr-defined]
    durable_file.HashingWriter.write = counted(durable_file.HashingWriter.write)  # type: ignore[method-assign]
    durable_file.sync_folder = counted(durable_file.sync_folder)
    Path.replace = counted(Path.replace)  # type: ignore[method-assign]
    put(CheckpointDirectory(path, retained=1), 2)


def test_generators_continue_from_their_captured_state(directory: CheckpointDirectory) -> None:
    device = torch.device("cpu")
    random.gauss(0, 1)  # stores the second value of a pair in the generator
    np.random.standard_normal()
    state = capture_rng_state(device)
    (found, _) = read(directory, put(directory, 1, state=state))
    wanted = draws()
    restore_rng_state(found, device)
    assert draws() == wanted


def draws() -> list[float]:
    return [
        random.gauss(0, 1),
        random.random(),
        np.random.standard_normal(),
        np.random.rand(),
        torch.rand(3).sum().item(),
    ]


def test_the_seed_differs_for_every_rank_and_step() -> None:
    seen = set()
    for rank in range(4):
        for step in (0, 1, 100):
            seed_generators(7, rank=rank, step=step)
            seen.add(tuple(draws()))
    assert len(seen) == 12
    seed_generators(7, rank=3, step=100)
    assert tuple(draws()) in seen
