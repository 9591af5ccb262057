"""Every rank takes a GPU of its own, or the ranks refuse to train: none of them trains silently on the CPUs."""

import threading
from pathlib import Path

import pytest
import torch
from torch.distributed import FileStore  # type: ignore[attr-defined]  # not in torch's __all__

from contract.folder.events import Failed
from contract.lifecycle.failure import FailureKind
from contract.spec.resources import Local, Slurm
from tests.testing.trainers.jobs import events, finish, prepare, start
from trainers.ranks import device as devices
from trainers.ranks.device import DeviceError, RankDevice, agree_on_device, choose_gpu, find_conflict, requested_gpus
from trainers.ranks.error_kind import classify_error
from trainers.ranks.rank_info import RankInfo, local_rank_info

GRES = "gres: gpu:4"


def rank(local_rank: int, local_world: int) -> RankInfo:
    return RankInfo(local_rank, local_world, local_rank, local_world, host="n1", address="n1")


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        (Local(), None),
        (Local(gpus_per_rank=1), "gpus_per_rank: 1"),
        (Slurm(), None),
        (Slurm(gres="gpu:4"), "gres: gpu:4"),
        (Slurm(gres="craynetwork:1,gpu:a100:2"), "gres: craynetwork:1,gpu:a100:2"),
        (Slurm(gres="lustre:1"), None),
        (Slurm(gpus_per_rank=2, ranks_per_node=4), "gpus_per_rank: 2"),
        (Slurm(options={"tres-per-task": "gres/gpu:1"}), "options.tres-per-task: gres/gpu:1"),
    ],
)
def test_a_request_of_gpus_is_found_wherever_the_spec_has_it(resources: Local | Slurm, expected: str | None) -> None:
    assert requested_gpus(resources) == expected


def test_the_device_of_the_spec_goes_before_its_resources() -> None:
    asks = Slurm(gres="gpu:4")
    assert requested_gpus(asks, "cpu") is None
    assert requested_gpus(Slurm(), "gpu") == "device: gpu"
    assert devices.select_device(rank(0, 1), requested_gpus(asks, "cpu"), device="cpu") == torch.device("cpu")


def test_ranks_that_see_all_gpus_of_their_node_take_one_each() -> None:
    assert [choose_gpu(4, requested=GRES, rank_info=rank(i, 4)) for i in range(4)] == [0, 1, 2, 3]
    assert [choose_gpu(8, requested=GRES, rank_info=rank(i, 4)) for i in range(4)] == [0, 1, 2, 3]


def test_ranks_to_which_slurm_binds_gpus_take_the_first_that_they_see() -> None:
    assert [choose_gpu(1, requested=GRES, rank_info=rank(i, 4)) for i in range(4)] == [0, 0, 0, 0]
    assert [choose_gpu(2, requested=GRES, rank_info=rank(i, 4)) for i in range(4)] == [0, 0, 0, 0]


def test_a_rank_without_its_requested_gpu_refuses_to_train() -> None:
    with pytest.raises(DeviceError, match=r"requests GPUs \(gres: gpu:4\), but rank 1 on n1 sees none"):
        choose_gpu(0, requested=GRES, rank_info=rank(1, 4))


def test_without_a_request_ranks_that_outnumber_the_gpus_train_on_cpus() -> None:
    assert choose_gpu(0, requested=None, rank_info=rank(0, 1)) is None
    assert choose_gpu(1, requested=None, rank_info=rank(0, 4)) is None
    assert choose_gpu(1, requested=None, rank_info=rank(0, 1)) == 0


def test_ranks_with_different_kinds_of_device_do_not_meet() -> None:
    conflict = find_conflict([RankDevice(0, "n1", "cuda", "GPU-a"), RankDevice(1, "n2", "cpu")])
    assert conflict == "rank 0 on n1 trains on cuda, rank 1 on n2 on cpu: all ranks need the same kind of device"


def test_two_ranks_with_one_gpu_do_not_meet() -> None:
    devices = [RankDevice(0, "n1", "cuda", "GPU-a"), RankDevice(1, "n2", "cuda", "GPU-a")]
    assert find_conflict(devices) is None  # of two hosts
    conflict = find_conflict([*devices, RankDevice(2, "n2", "cuda", "GPU-a")])
    assert conflict is not None
    assert "ranks 1 and 2 on n2 have the same GPU (GPU-a): request one GPU per rank" in conflict


def test_ranks_on_cpus_of_one_host_meet() -> None:
    assert find_conflict([RankDevice(i, "n1", "cpu") for i in range(3)]) is None


def test_every_rank_learns_that_the_devices_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces one GPU for two ranks: torch names the GPU, and this machine has none."""
    monkeypatch.setattr(devices, "_uuid", lambda device: "GPU-a" if device.type == "cuda" else "")
    errors: dict[int, str] = {}

    def meet(number: int) -> None:
        store = FileStore(str(tmp_path / "store"), 3)
        try:
            agree_on_device(store, local_rank_info(number, 3), torch.device("cuda" if number else "cuda:0"))
        except DeviceError as error:
            errors[number] = str(error)

    threads = [threading.Thread(target=meet, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors.keys() == {0, 1, 2}
    assert len(set(errors.values())) == 1
    assert "ranks 0 and 1" in errors[0]


def test_the_group_has_gloo_next_to_nccl() -> None:
    assert devices.group_backend(torch.device("cpu")) == "gloo"
    assert devices.group_backend(torch.device("cuda", 3)) == "cpu:gloo,cuda:nccl"


@pytest.mark.ring("all")
def test_a_run_that_requests_gpus_fails_where_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    resources = {"kind": "local", "ranks_per_node": 2, "gpus_per_rank": 1}
    on_cpus = prepare(tmp_path / "cpus", resources=resources, device="cpu", collective={"kind": "ring"})
    assert finish(start(on_cpus)) == (0, "")
    folder = prepare(tmp_path / "run", resources=resources, collective={"kind": "ring"})
    status, _ = finish(start(folder))
    assert status == 1
    (failed,) = [event for event in events(folder) if isinstance(event, Failed)]
    assert "the spec requests GPUs (gpus_per_rank: 1), but rank" in failed.reason
    assert classify_error(DeviceError(failed.reason)) is FailureKind.WRONG_ENVIRONMENT
