"""A GPT on a mesh has the outputs and gradients of the dense net in every layer, and sends the formulas' words."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.testing.trainers.thread_mesh import ThreadMesh
from trainers.losses import TokenCrossEntropy
from trainers.models.gpt import GPT
from trainers.tasks import LanguageModel
from trainers.tensor.calls import Sizes, calls_of_pass, words_of_pass
from trainers.tensor.cross_entropy import ShardedCrossEntropy, ShardedLanguageModel
from trainers.tensor.mesh import Mesh, Shape
from trainers.tensor.shard_gpt import shard_gpt
from trainers.tensor.shards import cut, join

VOCABULARY, CONTEXT, WIDTH, LAYERS, HEADS, SAMPLES = 32, 6, 32, 2, 8, 8
SHAPES = [
    *(Shape("one_d", n) for n in (2, 4, 8)),
    Shape("two_d", 2),
    Shape("three_d", 2),
    Shape("three_d", 2, saves_gathered=True),
]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
Traces = dict[str, tuple[Tensor, Tensor]]  # of each layer: its output and the gradient of its output


def dense_net(dtype: torch.dtype, *, is_tied: bool = True, scale: float = 10.0) -> GPT:
    """Return a net with weights large enough that every layer changes its input visibly."""
    torch.manual_seed(1)
    sizes = {"context": CONTEXT, "width": WIDTH, "layers": LAYERS, "heads": HEADS}
    net = GPT(VOCABULARY, **sizes, has_tied_head=is_tied).to(dtype)
    with torch.no_grad():
        for name, p in net.named_parameters():
            if p.dim() > 1:
                p *= scale
            elif "bias" in name:
                p.normal_(std=0.1)
            else:
                p += 0.1 * torch.randn_like(p)
    return net


def tokens() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    first, second = (torch.randint(VOCABULARY, (SAMPLES, CONTEXT), generator=generator) for _ in range(2))
    return first, second


def traced_pass(net: GPT, loss: Any) -> tuple[float, Traces, dict[str, Tensor]]:
    """Return the loss, the traces of all layers, and the gradients of the parameters."""
    outputs: dict[str, Tensor] = {}

    def keep(name: str, output: Tensor) -> None:
        output.retain_grad()
        outputs[name] = output

    for name, layer in net.named_modules():
        if name and not isinstance(layer, nn.ModuleList) and "tokens" not in name and "positions" not in name:
            layer.register_forward_hook(lambda _, __, output, name=name: keep(name, output))
    tokens_BT, next_BT = tokens()
    value = loss(net(tokens_BT), next_BT)
    value.backward()
    traces = {name: (y.detach(), y.grad) for name, y in outputs.items() if y.grad is not None}
    return value.item(), traces, {name: p.grad for name, p in net.named_parameters() if p.grad is not None}


def pass_on_mesh(mesh: Mesh, dense: GPT) -> tuple[float, Traces, dict[str, Tensor]]:
    return traced_pass(on_mesh(dense, mesh), ShardedCrossEntropy(mesh))


def on_mesh(dense: GPT, mesh: Mesh) -> GPT:
    """Return a copy of the net on the mesh; the threads share torch's generator, so they do not draw weights."""
    return shard_gpt(copy.deepcopy(dense), mesh)


def block_of(y_BTD: Tensor, name: str, shape: Shape, rank: int) -> Tensor:
    """Return the part of a dense layer's output that a rank has."""
    at, layer = shape.coordinates(rank), name.split(".")[-1]
    is_inner = layer in ("qkv", "fc1", "head")
    mesh = Mesh(shape, rank, {})
    rows = y_BTD.chunk(shape.row_blocks)[mesh.output_block if is_inner else mesh.input_block]
    axis = {"one_d": "i" if is_inner else "", "two_d": "j", "three_d": "j" if is_inner else "l"}[shape.kind]
    if not axis:
        return rows
    parts = rows.unflatten(2, (3 if layer == "qkv" else 1, -1))
    return parts.chunk(shape.side, dim=3)[at[axis]].flatten(2)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_layer_has_the_outputs_and_gradients_of_the_dense_net(shape: Shape, dtype: torch.dtype) -> None:
    close: dict[str, Any] = {"atol": TOLERANCE[dtype], "rtol": TOLERANCE[dtype]}
    loss, traces, gradients = traced_pass(dense_net(dtype), TokenCrossEntropy())
    mesh = ThreadMesh(shape)
    ranks = mesh.run(pass_on_mesh, dense_net(dtype))
    assert len(traces) == 2 + 8 * LAYERS + 1
    for rank, (_, found, _) in enumerate(ranks):
        assert found.keys() == traces.keys()
        for name, (y, dy) in traces.items():
            torch.testing.assert_close(found[name][0], block_of(y, name, shape, rank), **close)
            torch.testing.assert_close(found[name][1], block_of(dy, name, shape, rank), **close)
    assert sum(loss for loss, *_ in ranks) / shape.size == pytest.approx(loss, rel=TOLERANCE[dtype])
    for name, gradient in gradients.items():
        torch.testing.assert_close(join(name, [own[name] for *_, own in ranks], shape), gradient, **close)
    assert all(own.keys() == gradients.keys() for *_, own in ranks)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("shape", SHAPES[2:], ids=str)
def test_an_untied_head_has_its_own_gradient(shape: Shape) -> None:
    _, _, gradients = traced_pass(dense_net(torch.float64, is_tied=False), TokenCrossEntropy())
    ranks = ThreadMesh(shape).run(pass_on_mesh, dense_net(torch.float64, is_tied=False))
    assert "head.weight" in gradients
    for name, gradient in gradients.items():
        joined = join(name, [own[name] for *_, own in ranks], shape)
        torch.testing.assert_close(joined, gradient, atol=1e-10, rtol=1e-10)


@pytest.mark.ring("all")
def test_a_cube_of_side_3_has_the_gradients_of_the_dense_net() -> None:
    torch.manual_seed(1)
    dense = GPT(27, context=2, width=27, layers=1, heads=3, has_tied_head=True).double()
    tokens_BT, next_BT = torch.randint(27, (9, 2)), torch.randint(27, (9, 2))

    def one_pass(mesh: Mesh | None) -> dict[str, Tensor]:
        loss: Any = TokenCrossEntropy() if mesh is None else ShardedCrossEntropy(mesh)
        net = dense if mesh is None else on_mesh(dense, mesh)
        loss(net(tokens_BT), next_BT).backward()
        return {name: p.grad for name, p in net.named_parameters() if p.grad is not None}

    shape, gradients = Shape("three_d", 3), one_pass(None)
    ranks = ThreadMesh(shape).run(one_pass)
    for name, gradient in gradients.items():
        torch.testing.assert_close(join(name, [own[name] for own in ranks], shape), gradient, atol=1e-10, rtol=1e-10)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_pass_sends_the_words_of_the_formulas_and_every_rank_sends_as_many(shape: Shape) -> None:
    mesh = ThreadMesh(shape)
    mesh.run(pass_on_mesh, dense_net(torch.float32))
    sizes = Sizes(SAMPLES, CONTEXT, WIDTH, LAYERS, VOCABULARY)
    assert mesh.words_sent == words_of_pass(shape, sizes)
    if shape.kind != "two_d":  # in a broadcast the root sends more than the leaves
        assert max(mesh.words_of_ranks()) == pytest.approx(words_of_pass(shape, sizes) / shape.size, rel=0.02)


@pytest.mark.parametrize("q", [2, 3, 4])
def test_a_product_of_a_cube_moves_the_words_of_its_paper(q: int) -> None:
    """Bian et al.: 6 (q - 1) / q^3 per rank for a square product; SUMMA: 6 (q - 1) / q^2 in the mean over the ranks.

    A cube that gathers again for its backward pass sends 8 (q - 1) / q^3.
    """
    n = 12 * q**3
    sizes = Sizes(samples=n, context=1, width=n, layers=1, vocabulary=n)
    kept = Shape("three_d", q, saves_gathered=True)
    for shape, passes, power in ((kept, 6, 3), (Shape("three_d", q), 8, 3), (Shape("two_d", q), 6, 2)):
        sent = sum(
            call.words_sent(shape)
            for call in calls_of_pass(shape, sizes)
            if call.layer == "proj" and call.words != n // q  # without the bias
        )
        assert sent / shape.size / n**2 == pytest.approx(passes * (q - 1) / q**power)


@pytest.mark.ring("all")
def test_an_evaluation_counts_what_the_dense_one_counts() -> None:
    dense = dense_net(torch.float64)

    def tally(mesh: Mesh) -> Tensor:
        net = on_mesh(dense, mesh)
        with torch.no_grad():
            return ShardedLanguageModel(mesh).tally(net(tokens()[0]), tokens()[1])

    with torch.no_grad():
        loss, correct, count = LanguageModel().tally(dense(tokens()[0]), tokens()[1]).tolist()
    for shape in SHAPES:
        total = torch.stack(ThreadMesh(shape).run(tally)).sum(dim=0)
        repeats = shape.size // shape.row_blocks
        assert (total / repeats).tolist() == pytest.approx([loss, correct, count], rel=1e-10)


def test_a_batch_that_does_not_divide_is_refused() -> None:
    dense = dense_net(torch.float32)

    def embed(mesh: Mesh) -> Tensor:
        result: Tensor = on_mesh(dense, mesh)(torch.zeros(6, CONTEXT, dtype=torch.long))
        return result

    with pytest.raises(ValueError, match="6 samples do not divide into 4 blocks"):
        ThreadMesh(Shape("three_d", 2)).run(embed)


def test_the_initial_weights_are_those_of_the_dense_net() -> None:
    net, shape = dense_net(torch.float32), Shape("three_d", 2)
    dense = {name: p.detach() for name, p in net.named_parameters()}

    def shards(mesh: Mesh) -> dict[str, Tensor]:
        return {name: p.detach() for name, p in on_mesh(net, mesh).named_parameters()}

    for rank, own in enumerate(ThreadMesh(shape).run(shards)):
        assert own.keys() == dense.keys()
        assert all(torch.equal(shard, cut(name, dense[name], shape, rank)) for name, shard in own.items())
