"""Nets of users: the function gets the data's sizes and the options, and errors name their cause."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from torch import nn

from contract.spec.choices.models import Import
from contract.spec.run import RunSpec
from contract.validation import issues_of
from trainers.build.models import build_image_model

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
def test_the_function_is_called_with_channels_classes_and_options() -> None:
    model = build_image_model(Import(function="my_nets:linear", options={"width": 5}), 1, 10)
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
        ("my_nets:nothing", TypeError, "my_nets:nothing returned an int, not a torch.nn.Module"),
        ("half_a_net:linear", ModuleNotFoundError, "what_is_not_installed"),
    ],
)
def test_a_failed_import_is_named(function: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build_image_model(Import(function=function), 1, 10)


@pytest.mark.parametrize(
    ("model", "path", "message"),
    [
        (
            {"function": "my_nets.linear"},
            "model.function",
            "'my_nets.linear' must have the form package.module:function",
        ),
        ({"function": "my nets:linear"}, "model.function", "must have the form"),
        ({"function": "a:b:c"}, "model.function", "must have the form"),
        ({"function": "a:b", "options": {"classes": 3}}, "model.options.classes", "is set by the data"),
        ({"function": "a:b", "options": {"a-b": 3}}, "model.options", "'a-b' is not a valid argument name"),
    ],
)
def test_the_spec_is_checked_before_a_run_starts(model: dict[str, object], path: str, message: str) -> None:
    spec = {"optimizer": {"kind": "sgd"}, "schedule": {"kind": "constant", "rate": 1.0}, "batch": 8, "epochs": 1}
    with pytest.raises(ValidationError) as caught:
        RunSpec.model_validate({**spec, "model": {"kind": "import", **model}})
    (fault,) = issues_of(caught.value)
    assert fault.path == path
    assert message in fault.message
