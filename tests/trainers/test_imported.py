"""A user's own net: called with the data's sizes and the options, and told plainly where it cannot be had."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from torch import nn

from contract.spec.choices.models import Import
from contract.spec.run import RunSpec
from contract.validation import faults_of
from trainers.build.models import net

MODULE = """
from torch import nn

def linear(channels, classes, width=64):
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * 64, width), nn.Linear(width, classes))

def nothing(channels, classes):
    return classes
"""


@pytest.fixture
def _own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_nets.py").write_text(MODULE)
    (tmp_path / "half_a_net.py").write_text("import what_is_not_installed")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("_own_module")
def test_it_is_called_with_channels_classes_and_options() -> None:
    model = net(Import(function="my_nets:linear", options={"width": 5}), 1, 10)
    assert isinstance(model, nn.Sequential)
    assert [tuple(p.shape) for p in model.parameters()] == [(5, 64), (5,), (10, 5), (10,)]


@pytest.mark.usefixtures("_own_module")
@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (
            "no_nets.of_mine:linear",
            ValueError,
            "no_nets.of_mine:linear cannot be imported: there is no module 'no_nets'",
        ),
        ("my_nets.deeper:linear", ValueError, "there is no module 'my_nets.deeper'"),
        ("my_nets:cubic", ValueError, "my_nets.py has no 'cubic'"),
        ("my_nets:nothing", TypeError, "my_nets:nothing returned a int, not a torch.nn.Module"),
        ("half_a_net:linear", ModuleNotFoundError, "what_is_not_installed"),
    ],
)
def test_what_could_not_be_imported_is_named(function: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        net(Import(function=function), 1, 10)


@pytest.mark.parametrize(
    ("model", "path", "message"),
    [
        (
            {"function": "my_nets.linear"},
            "model.function",
            "'my_nets.linear' is not of the form package.module:function",
        ),
        ({"function": "my nets:linear"}, "model.function", "is not of the form"),
        ({"function": "a:b:c"}, "model.function", "is not of the form"),
        ({"function": "a:b", "options": {"classes": 3}}, "model.options.classes", "comes from the data"),
        ({"function": "a:b", "options": {"a-b": 3}}, "model.options", "'a-b' cannot be the name of an argument"),
    ],
)
def test_its_form_is_checked_before_anything_starts(model: dict[str, object], path: str, message: str) -> None:
    spec = {"optimizer": {"kind": "sgd"}, "schedule": {"kind": "constant", "rate": 1.0}, "batch": 8, "epochs": 1}
    with pytest.raises(ValidationError) as caught:
        RunSpec.model_validate({**spec, "model": {"kind": "import", **model}})
    (fault,) = faults_of(caught.value)
    assert fault.path == path
    assert message in fault.message
