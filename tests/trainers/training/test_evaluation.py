"""Evaluation over ranks counts every held-out image once, averages statistics, and changes no module's mode."""

import signal
from contextlib import closing
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from contract.metric_names import HELDOUT_ACCURACY, HELDOUT_LOSS
from tests.testing.trainers.attempts import Signal, attempt, curve
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.jobs import prepare
from tests.testing.trainers.own_nets import Frozen
from trainers.checkpoints.checkpoint_directory import CheckpointDirectory, rank_part
from trainers.collectives.runners.timeout import BackendCollectives
from trainers.data.loader import Loader
from trainers.data.split import TensorSplit
from trainers.tasks import Classification
from trainers.training.evaluation import Evaluation, average_statistics, recalibrate
from trainers.training.precision import Precision

SAMPLES, RIGHT = 10, 7


class Marked(nn.Module):
    """A model whose answer is the value of an image's only pixel."""

    def forward(self, x_BCHW: Tensor) -> Tensor:
        return nn.functional.one_hot(x_BCHW.flatten().long(), 3).float()


def evaluate_marked() -> tuple[float, float]:
    y_N = torch.arange(SAMPLES) % 3
    shown_N = torch.where(torch.arange(SAMPLES) < RIGHT, y_N, (y_N + 1) % 3)
    heldout, cpu = TensorSplit(shown_N.view(-1, 1, 1, 1), y_N), torch.device("cpu")
    judged = Evaluation(heldout, Classification(), 2, Precision(torch.float32, cpu), cpu)(Marked())
    return judged[HELDOUT_LOSS], judged[HELDOUT_ACCURACY]


@pytest.mark.parametrize("world", [1, 3, 4])
def test_every_image_counts_once_if_the_world_does_not_divide_their_number(world: int) -> None:
    logits_K = torch.tensor([1.0, 0, 0])
    right, wrong = (-logits_K.log_softmax(0)[:2]).tolist()
    for loss, accuracy in on_ranks(world, evaluate_marked):
        assert accuracy == RIGHT / SAMPLES
        assert loss == pytest.approx((RIGHT * right + (SAMPLES - RIGHT) * wrong) / SAMPLES)


def evaluate_two_images(workers: int) -> float:
    heldout, cpu = TensorSplit(torch.tensor([0.0, 1.0]).view(-1, 1, 1, 1), torch.tensor([0, 2])), torch.device("cpu")
    with closing(Loader(workers)) as loader:
        evaluate = Evaluation(heldout, Classification(), 2, Precision(torch.float32, cpu), cpu, loader=loader)
        return evaluate(Marked())[HELDOUT_ACCURACY]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("workers", [0, 1])
def test_ranks_without_an_image_evaluate_too(workers: int) -> None:
    """Forces fewer held-out images than ranks: two ranks of four have none."""
    assert on_ranks(4, evaluate_two_images, workers) == [0.5] * 4


def average_over_ranks() -> tuple[list[float], list[float], int]:
    norm = nn.BatchNorm1d(2, momentum=1.0)
    norm(torch.tensor([[0.0, 0.0], [2.0, 4.0]]) * (dist.get_rank() + 1))
    average_statistics(norm, BackendCollectives())
    means_C, variances_C, batches = norm.buffers()
    return means_C.tolist(), variances_C.tolist(), int(batches)


def test_running_statistics_become_the_ranks_mean() -> None:
    # means (1, 2) and (2, 4); variances (2, 8) and (8, 32)
    assert on_ranks(2, average_over_ranks) == [([1.5, 3.0], [5.0, 20.0], 1)] * 2


class OwnTrain(Frozen):
    """A net that freezes another part whenever somebody calls `train`, and counts the calls."""

    calls = 0

    def train(self, mode: bool = True) -> "OwnTrain":
        """Set the modes."""
        super().train(mode)
        self.layer.eval()
        self.calls += 1
        return self


def modes(net: nn.Module) -> dict[str, bool]:
    return {name: module.training for name, module in net.named_modules()}


def evaluate_alone(net: nn.Module) -> None:
    heldout, cpu = TensorSplit(torch.randn(4, 1, 8, 8), torch.arange(4)), torch.device("cpu")
    Evaluation(heldout, Classification(), 2, Precision(torch.float32, cpu), cpu)(net, alone=True)


@pytest.mark.parametrize("net", [Frozen(64, 4), OwnTrain(64, 4), Frozen(64, 4).eval()])
def test_every_module_has_the_mode_that_it_had_before_an_evaluation(net: nn.Module) -> None:
    before = modes(net)
    evaluate_alone(net)
    assert modes(net) == before


def test_every_module_has_the_mode_that_it_had_before_an_evaluation_that_failed() -> None:
    net = Frozen(63, 4)
    before = modes(net)
    with pytest.raises(RuntimeError):
        evaluate_alone(net)
    assert modes(net) == before


def test_a_net_in_evaluation_passes_all_its_modules_in_evaluation_mode() -> None:
    net, seen = OwnTrain(64, 4), []
    net.register_forward_hook(lambda *_: seen.append(modes(net)))
    evaluate_alone(net)
    assert not any(is_training for found in seen for is_training in found.values())
    assert net.calls == 2, "a net may do more in `train` than set flags, such as undo what it does in `eval`"


def average_fixed(dtype: torch.dtype) -> bool:
    torch.manual_seed(0)
    norm = nn.BatchNorm1d(1000, dtype=dtype)
    for buffer in (norm.running_mean, norm.running_var):
        assert buffer is not None
        nn.init.uniform_(buffer, 0.5, 1.5)
    before = [buffer.clone() for buffer in norm.buffers()]
    average_statistics(norm, BackendCollectives())
    return all(map(torch.equal, norm.buffers(), before))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [2, 1, 3])
def test_statistics_that_are_equal_on_all_ranks_stay_equal_to_the_bit(world: int, dtype: torch.dtype) -> None:
    assert on_ranks(world, average_fixed, dtype) == [True] * world


def average_others() -> list[float]:
    net = nn.BatchNorm1d(2)
    net.register_buffer("running_power", torch.tensor(float(dist.get_rank())))
    holder = nn.Module()
    holder.norm = net
    holder.register_buffer("table", torch.tensor(float(dist.get_rank())))
    average_statistics(holder, BackendCollectives())
    return [float(buffer) for name, buffer in holder.named_buffers() if buffer.dim() == 0 and "batches" not in name]


def test_buffers_that_are_no_statistics_stay_those_of_their_rank() -> None:
    assert on_ranks(3, average_others) == [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]


def test_new_statistics_are_computed_for_layers_that_train_and_for_no_frozen_one() -> None:
    net = Frozen(64, 4)
    fixed = net.norm.get_buffer("running_mean").clone()
    recalibrate(net, [((torch.randn(8, 1, 8, 8),), torch.arange(8))])
    assert torch.equal(net.norm.get_buffer("running_mean"), fixed)
    assert (net.norm.momentum, net.free.momentum) == (0.1, 0.1)
    assert int(net.free.get_buffer("num_batches_tracked")) == 1


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("ranks", [2, 1, 3])
def test_a_frozen_layer_stays_frozen_in_all_epochs_and_a_resumed_run_is_equal(ranks: int, tmp_path: Path) -> None:
    choices = {
        "model": {"kind": "import", "function": "tests.testing.trainers.own_nets:frozen"},
        "optimizer": {"kind": "sgd"},
        "schedule": {"kind": "constant", "rate": 0.1},
        "batch": 300,
        "epochs": 3,
        "collective": {"kind": "native"},
        "resources": {"kind": "local", "ranks_per_node": ranks},
        "checkpoint": {"every_epochs": 1, "every_steps": None, "keep": 9},
    }
    whole, killed = prepare(tmp_path / "whole", **choices), prepare(tmp_path / "killed", **choices)
    assert attempt(whole, 1) == [0] * ranks
    steps = whole.read_spec().steps
    assert -signal.SIGKILL in attempt(killed, 1, blow=Signal(signal.SIGKILL, after=steps - 1))
    assert attempt(killed, 2) == [0] * ranks
    assert curve(killed) == curve(whole)
    assert curve(killed, "heldout_loss") == curve(whole, "heldout_loss")
    means = [part["buffers"]["model.norm.running_mean"] for part in saved_parts(whole.checkpoints, ranks)]
    assert len(means) >= 3 * ranks
    assert all(torch.equal(mean, means[0]) for mean in means)


def saved_parts(checkpoints: Path, ranks: int) -> list[dict[str, dict[str, Tensor]]]:
    directory = CheckpointDirectory(checkpoints, retained=9)
    manifests = [(name, directory.read_manifest(name)) for name in directory.list_complete()]
    return [directory.read_part(name, found, rank_part(rank)) for name, found in manifests for rank in range(ranks)]
