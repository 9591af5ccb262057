"""A rank of a cube or a square keeps its share of the dense net's memory: parameters, gradients, saved activations."""

from functools import partial

import pytest
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from tests.testing.trainers.thread_mesh import ThreadMesh
from tests.trainers.tensor.test_layers import on_mesh
from trainers.losses import TokenCrossEntropy
from trainers.models.gpt import GPT
from trainers.tensor.cross_entropy import ShardedCrossEntropy
from trainers.tensor.mesh import Mesh, Shape

VOCABULARY, CONTEXT, WIDTH, LAYERS, SAMPLES = 64, 64, 64, 2, 16
CUBE = Shape("three_d", 2)


class SavedBytes:
    """Adds the bytes of the storages that the layers save for the backward pass, each storage once."""

    def __init__(self, net: GPT) -> None:
        self._ignored = {p.untyped_storage().data_ptr() for p in net.parameters()}
        self.layers: dict[str, int] = {}
        self._tensors: list[Tensor] = []  # so that no storage is freed and its address used again
        self._seen: set[int] = set()
        self._names = [""]  # of the modules whose forward pass runs; the loss has no name
        for name, module in net.named_modules():
            module.register_forward_pre_hook(partial(self._enter, name))
            module.register_forward_hook(self._leave)

    def __enter__(self) -> "SavedBytes":
        self._hooks = saved_tensors_hooks(self._pack, lambda x: x)
        self._hooks.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._hooks.__exit__(*error)

    def _enter(self, name: str, *_: object) -> None:
        self._names.append(name)

    def _leave(self, *_: object) -> None:
        self._names.pop()

    def _pack(self, x: Tensor) -> Tensor:
        storage = x.untyped_storage()
        if storage.data_ptr() not in self._ignored | self._seen:
            self._seen.add(storage.data_ptr())
            self._tensors.append(x)
            self.layers[self._names[-1]] = self.layers.get(self._names[-1], 0) + storage.nbytes()
        return x


def a_gpt() -> GPT:
    torch.manual_seed(0)
    return GPT(VOCABULARY, context=CONTEXT, width=WIDTH, layers=LAYERS, heads=8)


def memory(mesh: Mesh | None, dense: GPT) -> tuple[dict[str, int], dict[str, int]]:
    """Return the bytes of each part after a forward and a backward pass, and the saved bytes of each layer."""
    net, loss = (dense, TokenCrossEntropy()) if mesh is None else (on_mesh(dense, mesh), ShardedCrossEntropy(mesh))
    generator = torch.Generator().manual_seed(1)
    tokens_BT, next_BT = (torch.randint(VOCABULARY, (SAMPLES, CONTEXT), generator=generator) for _ in range(2))
    with SavedBytes(net) as saved:
        value = loss(net(tokens_BT), next_BT)
    value.backward()
    found = {"parameters": 0, "gradients": 0, "activations": sum(saved.layers.values())}
    for p in net.parameters():
        assert p.grad is not None
        found["parameters"] += p.untyped_storage().nbytes()
        found["gradients"] += p.grad.untyped_storage().nbytes()
    return found, saved.layers


def shares(shape: Shape) -> tuple[dict[str, float], dict[str, float]]:
    """Return the largest share of the dense net's bytes that a rank has, by part and by layer."""
    dense_parts, dense_layers = memory(None, a_gpt())
    ranks = ThreadMesh(shape).run(memory, a_gpt())
    parts = {name: max(parts[name] for parts, _ in ranks) / size for name, size in dense_parts.items()}
    parts["all"] = max(sum(parts.values()) for parts, _ in ranks) / sum(dense_parts.values())
    layers = {name: max(own.get(name, 0) for _, own in ranks) / size for name, size in dense_layers.items()}
    return parts, layers


@pytest.mark.ring("all")
@pytest.mark.parametrize("shape", [CUBE, Shape("two_d", 2)], ids=str)
def test_a_rank_has_its_share_of_parameters_gradients_and_saved_activations(shape: Shape) -> None:
    """1 / q^3 on a cube and 1 / q^2 on a square, within 5 %, together and in every layer."""
    parts, layers = shares(shape)
    assert {"parameters", "gradients", "activations", "all"} == parts.keys()
    for name, share in parts.items():
        assert share == pytest.approx(1 / shape.size, rel=0.05), name
    assert {"blocks.0.norm1", "blocks.1.attention.qkv", "blocks.1.fc2", "norm", "head"} < layers.keys()
    for name, share in layers.items():
        assert share <= 1.05 / shape.size, name


@pytest.mark.ring("all")
def test_a_cube_that_saves_gathered_blocks_keeps_a_share_of_the_square_of_its_side() -> None:
    """X / q^2 and W / q^2 of a layer, which the dense net counts as M K words of activations."""
    parts, layers = shares(Shape("three_d", 2, saves_gathered=True))
    tokens = SAMPLES * CONTEXT
    for name, outputs in (("attention.qkv", 3 * WIDTH), ("fc1", 4 * WIDTH), ("fc2", WIDTH)):
        assert layers[f"blocks.0.{name}"] == pytest.approx((1 + outputs / tokens) / 4), name
    assert parts["parameters"] == parts["gradients"] == 1 / 8
    assert parts["activations"] > 1.5 / 8


@pytest.mark.ring("all")
@pytest.mark.parametrize("n", [2, 8])
def test_a_rank_of_a_line_keeps_the_inputs_of_norms_and_first_layers_whole(n: int) -> None:
    _, layers = shares(Shape("one_d", n))
    for name in ("blocks.0.norm1", "blocks.0.attention.qkv", "blocks.0.norm2", "blocks.0.fc1", "norm", "head"):
        assert layers[name] == 1, name
    for name in ("blocks.0.attention", "blocks.0", "blocks.0.fc2"):  # queries to values, and both sides of gelu
        assert layers[name] == 1 / n, name
