"""A user's floating-point data have the type of the net, and a net has an output for each class."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from contract.folder.events import Finished
from contract.spec.run import RunSpec
from tests.testing.trainers.attempts import attempt, curve
from tests.testing.trainers.jobs import events, prepare
from trainers.build.losses import build_loss
from trainers.build.tasks import build_task
from trainers.data.float_types import FloatTypes
from trainers.data.split import TensorSplit, to_device

HERE = "tests.testing.trainers.own_data"
CPU = torch.device("cpu")
PLAIN: dict[str, Any] = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 12,
    "epochs": 2,
}


def own(name: str, **options: Any) -> dict[str, Any]:
    return {"kind": "import", "function": f"{HERE}:{name}", "options": options}


def data_of(dtype: str, *, regresses: bool = False) -> dict[str, Any]:
    stated = {"shape": [1, 8, 8], "classes": None if regresses else 4, "train_samples": 64, "heldout_samples": 64}
    return own("typed", dtype=dtype, regresses=regresses) | stated


def losses_of(path: Path, ranks: int, **choices: Any) -> dict[int, float]:
    local = {"kind": "local", "ranks_per_node": ranks}
    folder = prepare(path, **PLAIN, collective={"kind": "native"}, resources=local, **choices)
    assert attempt(folder, 1) == [0] * ranks
    assert isinstance(events(folder)[-1], Finished)
    return curve(folder) | {-step: loss for step, loss in curve(folder, "heldout_loss").items()}


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("ranks", [2, 1, 3])
def test_data_of_any_type_train_a_net_of_any_type(ranks: int, tmp_path: Path) -> None:
    """The images have values that every type has, so that the losses differ by the rounding of the net alone."""
    found = [
        losses_of(tmp_path / f"{data}-{net}", ranks, data=data_of(data), model=own("linear", dtype=net))
        for data, net in (
            ("float32", "float32"),
            ("float64", "float32"),
            ("float16", "float32"),
            ("float64", "float64"),
        )
    ]
    assert found[0] == found[1] == found[2]
    assert found[3] == pytest.approx(found[0], rel=1e-5)


def test_targets_of_a_regression_have_the_type_of_the_net(tmp_path: Path) -> None:
    mse = {"kind": "import", "function": "torch.nn:MSELoss"}
    found = [
        losses_of(tmp_path / data, 1, data=data_of(data, regresses=True), model=own("linear"), loss=mse)
        for data in ("float32", "float64")
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-5)


def types_after(net: nn.Module, *parts: Tensor, target: Tensor) -> list[torch.dtype]:
    split = TensorSplit(parts[0], target)
    inputs, moved = to_device((parts, target), split, CPU, types=FloatTypes.of(net))
    return [part.dtype for part in (*inputs, moved)]


def test_a_type_that_some_parameter_has_and_integers_stay() -> None:
    mixed = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())
    x, number = torch.zeros(2, 2), torch.tensor([1, 2])
    assert types_after(mixed, x.double(), x.half(), number, target=x) == [
        torch.float64,
        torch.float32,
        torch.int64,
        torch.float32,
    ]
    assert types_after(nn.Linear(2, 2).double(), x, target=number) == [torch.float64, torch.int64]
    assert types_after(nn.ReLU(), x.double(), target=x.half()) == [torch.float64, torch.float16]


class Bytes(TensorSplit):
    """Images of bytes, which become float32 on the device, as those of image folders do."""

    def normalize(self, pixels_BCHW: Tensor) -> Tensor:
        """Return x_BCHW."""
        return pixels_BCHW.float()


def test_images_of_bytes_have_the_type_of_the_net_too() -> None:
    split = Bytes(torch.zeros(2, 3, 4, 4, dtype=torch.uint8), torch.zeros(2, dtype=torch.int64))
    types = FloatTypes.of(nn.Linear(2, 2).double())
    (x_BCHW,), _ = to_device(split.batch(torch.arange(2)), split, CPU, types=types, channels_last=True)
    assert x_BCHW.dtype == torch.float64
    assert x_BCHW.is_contiguous(memory_format=torch.channels_last)


TEXT = {"kind": "text", "path": None, "context": 8, "train_samples": 16, "heldout_samples": 4}


@pytest.mark.parametrize(
    ("data", "logits", "target", "message"),
    [
        (data_of("float32"), torch.zeros(2, 3), [0, 1], "the net returns 3 outputs, and the spec states 4 classes"),
        (data_of("float32"), torch.zeros(2), [0, 1], "the net returns 1 output, and the spec states 4 classes"),
        (TEXT, torch.zeros(1, 2, 100), [[7, 8]], "the net returns 100 outputs, and the spec states a vocabulary of"),
    ],
)
def test_a_net_with_fewer_outputs_than_classes_is_an_error_that_says_so(
    data: dict[str, Any], logits: Tensor, target: Any, message: str
) -> None:
    """On a CPU torch would raise an IndexError, and only for a batch that has the class."""
    model = {"kind": "gpt"} if data is TEXT else own("linear")
    run = RunSpec.model_validate({**PLAIN, "data": data, "model": model})
    loss, task = build_loss(run, nn.Module()), build_task(run, CPU)
    for use in (loss, task.tally):
        with pytest.raises(ValueError, match=message):
            use(logits, torch.tensor(target))


def test_a_run_of_a_net_with_fewer_outputs_than_classes_ends_with_the_sentence(tmp_path: Path) -> None:
    local = {"kind": "local", "ranks_per_node": 2}
    model = own("linear", outputs=3)
    folder = prepare(
        tmp_path, **PLAIN, collective={"kind": "native"}, resources=local, data=data_of("float32"), model=model
    )
    assert 0 not in attempt(folder, 1)
    notes = "".join(path.read_text() for path in folder.path.glob("attempts/1.rank-*.json"))
    assert "the net returns 3 outputs, and the spec states 4 classes" in notes


def test_more_outputs_than_classes_and_the_outputs_of_an_own_loss_are_the_users_choice() -> None:
    run = RunSpec.model_validate({**PLAIN, "data": data_of("float32"), "model": own("linear")})
    build_loss(run, nn.Module())(torch.zeros(2, 5), torch.tensor([0, 3]))
    bce = {"kind": "import", "function": "torch.nn:MSELoss"}
    of_own = RunSpec.model_validate({**PLAIN, "data": data_of("float32"), "model": own("linear"), "loss": bce})
    build_loss(of_own, nn.Linear(2, 2))(torch.zeros(2, 1), torch.zeros(2, 1))
