"""A checkpoint holds what can be read back exactly; all else is refused by its name, its type, and what to use."""

import io
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import timedelta
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import Parameter

from trainers.checkpoints.checkpoint_directory import CheckpointDirectory, UnloadableCheckpoint, load_part
from trainers.checkpoints.checkpoint_writer import copy_state
from trainers.checkpoints.storable import NotStorable, check_storable

Pair = namedtuple("Pair", "first second")


class Color(Enum):
    RED = 1


class Level(IntEnum):
    LOW = 1


class Text(str):
    __slots__ = ()


class Own:
    pass


class OwnTensor(Tensor):
    pass


class OwnList(list[int]):
    pass


def itself() -> list[Any]:
    inside: list[Any] = [1]
    inside.append(inside)
    return inside


READ_BACK: dict[str, Any] = {
    "numbers": [None, True, 3, 10**30, 1.5, float("inf"), 2j],
    "texts": ["text", b"bytes", bytearray(b"array")],
    "containers": [[1, [2]], (1,), (1, 2, 3, 4), {1, "a"}, {"a": {1: 2, (3, "b"): 4, None: 5}}],
    "of collections": [OrderedDict(b=1, a=2), Counter("aab")],
    "of torch": [torch.Size([2, 3]), torch.bfloat16, torch.device("cpu"), torch.strided, torch.per_tensor_affine],
    "tensors": [
        torch.ones(2),
        torch.nn.Parameter(torch.ones(2)),
        torch.nn.Buffer(torch.ones(2)),
        torch.ones(2, requires_grad=True) * 2,
        torch.tensor(3),
        torch.tensor([True]),
        torch.ones(2, dtype=torch.complex64).conj(),
        torch.ones(2, dtype=torch.bfloat16),
        torch.ones(2).to(torch.float8_e4m3fn),
    ],
    "layouts": [
        torch.eye(2).to_sparse(),
        torch.eye(2).to_sparse_csr(),
        torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
        torch.ones(4, 3, 2, 2).to(memory_format=torch.channels_last),
    ],
}
REFUSED: dict[str, tuple[Any, str]] = {
    "numpy.float64": (np.float64(1.5), "use float(...)"),
    "numpy.float32": (np.float32(1.5), "use float(...)"),
    "numpy.int64": (np.int64(3), "use int(...)"),
    "numpy.bool": (np.bool_(True), "use bool(...)"),
    "numpy.ndarray": (np.ones(2), "use torch.from_numpy(...)"),
    "collections.deque": (deque([1]), "use list(...)"),
    "collections.defaultdict": (defaultdict(int), "use dict(...)"),
    "frozenset": (frozenset({1}), "use set(...)"),
    "range": (range(3), "use list(...)"),
    f"{__name__}.Pair": (Pair(1, 2), "use tuple(...)"),
    f"{__name__}.Color": (Color.RED, "use its value"),
    f"{__name__}.Level": (Level.LOW, "use its value"),
    f"{__name__}.Text": (Text("a"), "use str(...)"),
    f"{__name__}.OwnList": (OwnList([1]), "use list(...)"),
    f"{__name__}.Own": (Own(), "use numbers, texts, tensors, and lists and dictionaries of them"),
    f"{__name__}.OwnTensor": (torch.ones(2).as_subclass(OwnTensor), "use a plain tensor"),
    "datetime.timedelta": (timedelta(1), "use numbers, texts"),
    "builtin_function_or_method": (len, "use numbers, texts"),
}


def read_back(state: Any) -> Any:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return load_part(file, "part")


def are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        same = (one.dtype, one.layout, one.shape) == (other.dtype, other.layout, other.shape)
        strides = one.layout is not torch.strided or one.stride() == other.stride()
        return same and strides and torch.equal(numbers(one), numbers(other))
    if type(one) in (list, tuple):
        return type(one) is type(other) and all(are_equal(*pair) for pair in zip(one, other, strict=True))
    return type(one) is type(other) and bool(one == other)


def numbers(x: Tensor) -> Tensor:
    x = x.detach()
    if x.is_quantized:
        return x.int_repr()
    return x.to_dense().resolve_conj() if x.is_complex() else x.to_dense().float()


@pytest.mark.parametrize("kind", READ_BACK)
def test_what_may_be_stored_is_read_back_as_it_was(kind: str) -> None:
    """Also its copy, which the thread that writes gets."""
    check_storable(READ_BACK[kind])
    for value in READ_BACK[kind]:
        copy = copy_state([value])[0]
        assert type(copy) is (Tensor if isinstance(value, Tensor) else type(value))
        assert are_equal(value, read_back([copy])[0]), value


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_back_is_refused_by_its_exact_type(name: str) -> None:
    value, advice = REFUSED[name]
    with pytest.raises(UnloadableCheckpoint):
        read_back({"state": [value]})
    for state in (value, [value], {"a": (1, {"b": value})}):
        with pytest.raises(NotStorable) as refused:
            check_storable({"optimizer": {"param_groups": [{"decay": state}]}})
        assert str(refused.value).startswith("the optimizer's group 0 has `decay")
        assert f"of type {name}, which a checkpoint cannot hold: {advice}" in str(refused.value)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (torch.ones(2, device="meta"), "on the device meta, which has no values"),
        (torch.ones(2).to_mkldnn(), "in the layout of mkldnn"),
        ({torch.ones(2): 1}, "with a tensor as a key, which a resumed run could not find again"),
        ({torch.ones(2)}, "with a tensor as a key"),
        ({(1, np.int64(2)): 1}, "of type numpy.int64"),
    ],
)
def test_tensors_without_values_and_keys_that_no_run_finds_again_are_refused(value: Any, why: str) -> None:
    with pytest.raises(NotStorable, match=why):
        check_storable({"optimizer": {"state": {0: {"mean": value}}}}, ["0.weight"])


class OwnParameter(Parameter):
    """A user's class of parameters, of which the values alone are stored."""


def test_a_parameter_of_a_users_class_is_stored_as_a_tensor() -> None:
    check_storable({"parameters": {"0.weight": OwnParameter(torch.ones(2))}})


def test_the_refusal_names_the_parameter_the_key_and_the_place_inside() -> None:
    state = {"replica": {"optimizer": {"state": {1: {"history": {"last": [1.0, np.float64(2)]}}}, "param_groups": []}}}
    with pytest.raises(NotStorable) as refused:
        check_storable(state, ["0.weight", "0.bias"])
    assert str(refused.value).startswith(
        "the optimizer's state of 0.bias has `history['last'][1]` of type numpy.float64"
    )
    with pytest.raises(NotStorable, match=r"the optimizer's state dict has `slow\['rate'\]` of type numpy"):
        check_storable({"optimizer": {"slow": {"rate": np.float64(1)}}})


def test_a_list_that_contains_itself_and_a_tensor_in_two_places_are_the_same_in_the_copy() -> None:
    shared = torch.zeros(1)
    state = {"list": itself(), "a": {"count": shared}, "b": {"count": shared}}
    check_storable(state)
    copy = read_back(copy_state(state))
    assert copy["list"][1] is copy["list"]
    assert copy["a"]["count"] is copy["b"]["count"]
    assert copy["a"]["count"] is not shared


def test_a_part_that_cannot_be_loaded_says_what_it_holds_and_gives_none_of_torch_s_advice(tmp_path: Path) -> None:
    directory = CheckpointDirectory(tmp_path, retained=1)
    directory.write_part(3, 1, "rank-0.pt", {"decay": np.float64(0.5)})
    path = directory.folder(3, 1) / "rank-0.pt"
    with path.open("rb") as file, pytest.raises(UnloadableCheckpoint) as error:
        load_part(file, f"{path.parent.name}/rank-0.pt")
    text = str(error.value)
    assert text.startswith("step-0000000003-attempt-1/rank-0.pt cannot be loaded: it holds numpy")
    assert not [word for word in ("\x1b", "weights_only", "safe_globals", "trust") if word in text]
    assert error.value.__suppress_context__, "the traceback would show torch's text"
