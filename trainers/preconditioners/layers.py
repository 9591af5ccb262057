"""The layers that K-FAC preconditions: their statistics, and their gradients as matrices.

    Linear, and Conv1d, Conv2d and Conv3d with any stride, padding and dilation     Martens & Grosse (2015),
                                                                                    Grosse & Martens (2016)
    convolutions with groups          one block for each group: groups share no weights
    Embedding                         a linear layer of one-hot vectors: a diagonal A

For b samples with T locations each (T = 1 for a linear layer of vectors), inputs a and gradients g of one sample's loss
by the outputs,

    A = mean over samples and locations of a a^T,    G = mean over samples of the sum over locations of g g^T

whose product is that of Grosse & Martens. A constant 1 follows the inputs of a layer with a bias.

Legend: N rows of inputs or of gradients (samples x locations), R outputs, C inputs of a block, Q groups.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fnmatch import fnmatchcase
from math import prod
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from trainers.preconditioners.shapes import BlockShape

Convolution = nn.Conv1d | nn.Conv2d | nn.Conv3d  # transposed ones are of other classes, and take the plain gradient
PIECE_NUMBERS = 1 << 24  # of the rows that a convolution's inputs are expanded to at a time


class PreconditionedLayer(ABC):
    """One layer of a net, with one block of weights or several."""

    blocks: Sequence[BlockShape]

    def __init__(self, name: str, module: nn.Module) -> None:
        self.name, self.module = name, module
        bias = getattr(module, "bias", None)
        # a frozen or parametrized bias is no part of the layer's matrix
        self._bias = bias if isinstance(bias, nn.Parameter) and bias.requires_grad else None

    @abstractmethod
    def input_sums(self, x: Tensor) -> tuple[Tensor, int]:
        """Return sum a a^T of each block (Q, C, C), or of a diagonal factor (1, C), and the number of rows."""

    @abstractmethod
    def output_sums(self, grad: Tensor) -> Tensor:
        """Return sum g g^T of each block (Q, R, R)."""

    def gradients(self) -> list[Tensor] | None:
        """Return the gradient (R, C) of each block; None if the layer has none."""
        weight = cast(nn.Parameter, self.module.weight)
        if weight.grad is None:
            return None
        rows_QRC = self._to_blocks(weight.grad)
        if self._bias is not None:  # without a gradient if it was frozen after the start
            of_bias = torch.zeros_like(self._bias) if self._bias.grad is None else self._bias.grad
            rows_QRC = torch.cat([rows_QRC, of_bias.view(len(rows_QRC), -1, 1)], dim=2)
        return list(rows_QRC)

    def set_gradients(self, grads_RC: Sequence[Tensor]) -> None:
        """Replace the gradients, in the memory that they have."""
        weight = cast(nn.Parameter, self.module.weight)
        assert weight.grad is not None
        rows_QRC = torch.stack(list(grads_RC))
        if self._bias is not None:
            if self._bias.grad is not None:
                self._bias.grad.copy_(rows_QRC[:, :, -1].reshape(-1))
            rows_QRC = rows_QRC[:, :, :-1]
        weight.grad.copy_(self._from_blocks(rows_QRC, weight.grad))

    def _to_blocks(self, grad: Tensor) -> Tensor:
        return grad.reshape(len(self.blocks), self.blocks[0].outputs, -1)

    def _from_blocks(self, rows_QRC: Tensor, like: Tensor) -> Tensor:
        return rows_QRC.reshape(like.shape)


class LinearLayer(PreconditionedLayer):
    """A linear layer; all dimensions but the last of its inputs are samples and locations."""

    def __init__(self, name: str, module: nn.Linear) -> None:
        super().__init__(name, module)
        self._has_bias = self._bias is not None
        self.blocks = [BlockShape(name, module.in_features + self._has_bias, module.out_features)]

    def input_sums(self, x: Tensor) -> tuple[Tensor, int]:
        """Return sum a a^T and the number of rows."""
        x_1CN = x.reshape(-1, x.shape[-1]).T.unsqueeze(0)
        return _outer_sums(x_1CN, has_bias=self._has_bias), x_1CN.shape[2]

    def output_sums(self, grad: Tensor) -> Tensor:
        """Return sum g g^T."""
        return _outer_sums(grad.reshape(-1, grad.shape[-1]).T.unsqueeze(0))


class ConvolutionLayer(PreconditionedLayer):
    """A convolution of sequences, images or volumes: each location of its output is a row."""

    module: Convolution

    def __init__(self, name: str, module: Convolution) -> None:
        super().__init__(name, module)
        self._has_bias, self._groups = self._bias is not None, module.groups
        inputs = module.weight[0].numel() + self._has_bias
        names = [name] if self._groups == 1 else [f"{name}[{group}]" for group in range(self._groups)]
        self.blocks = [BlockShape(each, inputs, module.out_channels // self._groups) for each in names]

    def input_sums(self, x: Tensor) -> tuple[Tensor, int]:
        """Return sum a a^T of each group and the number of rows."""
        sums_QCC, rows = None, 0
        for part in torch.split(x, self._samples_per_piece(x)):
            columns_QCN = self._columns(part)
            part_QCC = _outer_sums(columns_QCN, has_bias=self._has_bias)
            sums_QCC = part_QCC if sums_QCC is None else sums_QCC.add_(part_QCC)
            rows += columns_QCN.shape[2]
        assert sums_QCC is not None
        return sums_QCC, rows

    def output_sums(self, grad: Tensor) -> Tensor:
        """Return sum g g^T of each group."""
        samples, channels = grad.shape[:2]
        rows_QRN = grad.reshape(samples, self._groups, channels // self._groups, -1).permute(1, 2, 0, 3)
        return _outer_sums(rows_QRN.reshape(self._groups, channels // self._groups, -1))

    def _samples_per_piece(self, x: Tensor) -> int:
        numbers = x[0].numel() * prod(self.module.kernel_size) // prod(self.module.stride)
        return max(1, PIECE_NUMBERS // max(numbers, 1))

    def _columns(self, x: Tensor) -> Tensor:
        """Return the inputs of each location of the output, (Q, C, N), for x (samples, channels, sides)."""
        module, paddings = self.module, self.module.padding
        if isinstance(paddings, str) or module.padding_mode != "zeros":
            mode = "constant" if module.padding_mode == "zeros" else module.padding_mode
            x, paddings = pad(x, module._reversed_padding_repeated_twice, mode=mode), (0,) * (x.dim() - 2)
        # channels first, so that the columns are written once, in their order; torch's unfold has the samples first
        x_CB = pad(x.transpose(0, 1), [padding for padding in reversed(paddings) for _ in range(2)])
        channels, samples, *sides = x_CB.shape
        per_channel, per_sample, *per_side = x_CB.stride()
        geometry = list(zip(sides, module.kernel_size, module.dilation, module.stride, strict=True))
        locations = [(side - dilation * (size - 1) - 1) // step + 1 for side, size, dilation, step in geometry]
        inside = [dilation * one for one, dilation in zip(per_side, module.dilation, strict=True)]
        between = [step * one for one, step in zip(per_side, module.stride, strict=True)]
        view = x_CB.as_strided(
            (channels, *module.kernel_size, samples, *locations), (per_channel, *inside, per_sample, *between)
        )
        inputs = channels // self._groups * prod(module.kernel_size)
        return view.reshape(self._groups, inputs, samples * prod(locations))


class EmbeddingLayer(PreconditionedLayer):
    """An embedding: the mean of the one-hot inputs' outer products is diagonal, with the frequency of each token."""

    module: nn.Embedding

    def __init__(self, name: str, module: nn.Embedding) -> None:
        super().__init__(name, module)
        self.blocks = [BlockShape(name, module.num_embeddings, module.embedding_dim, is_diagonal=True)]

    def input_sums(self, x: Tensor) -> tuple[Tensor, int]:
        """Return the count of each token and the number of tokens."""
        counts_C = torch.bincount(x.flatten(), minlength=self.module.num_embeddings)
        return counts_C.to(_wide(self.module.weight.dtype)).unsqueeze(0), x.numel()

    def output_sums(self, grad: Tensor) -> Tensor:
        """Return sum g g^T."""
        return _outer_sums(grad.reshape(-1, grad.shape[-1]).T.unsqueeze(0))

    def _to_blocks(self, grad: Tensor) -> Tensor:
        return grad.T.unsqueeze(0)

    def _from_blocks(self, rows_QRC: Tensor, like: Tensor) -> Tensor:
        return rows_QRC[0].T


def find_layers(
    model: nn.Module, *, skip: Sequence[str] = (), largest: int | None = None
) -> tuple[list[PreconditionedLayer], list[str]]:
    """Return the layers of a net that K-FAC preconditions, and the patterns of `skip` that match no layer.

    A pattern is a layer's name or kind (`classifier`, `features.*`, `Conv2d`). Layers with frozen or parametrized
    weights and with a factor above `largest` are skipped too. Of layers that share their weights, one has the factors:
    the first, but a linear layer before an embedding, because a head's gradient has all tokens and an embedding's the
    tokens of a batch.
    """
    found, unused = dict[Tensor, PreconditionedLayer](), list(skip)
    for name, module in model.named_modules():
        layer = _make_layer(name, module)
        if layer is None:
            continue
        matching = [pattern for pattern in skip if fnmatchcase(name, pattern) or pattern == type(module).__name__]
        unused = [pattern for pattern in unused if pattern not in matching]
        too_large = largest is not None and max(max(block.inputs, block.outputs) for block in layer.blocks) > largest
        weight = module.weight
        # what torch computes from other parameters (torch.nn.utils.parametrize) has no gradient of its own
        if matching or too_large or not isinstance(weight, nn.Parameter) or not weight.requires_grad:
            continue
        if isinstance(found.get(weight), EmbeddingLayer) and not isinstance(layer, EmbeddingLayer):
            del found[weight]
        found.setdefault(weight, layer)
    return list(found.values()), unused


def _make_layer(name: str, module: nn.Module) -> PreconditionedLayer | None:
    if isinstance(module, nn.Linear):
        return LinearLayer(name, module)
    if isinstance(module, Convolution):
        return ConvolutionLayer(name, module)
    if isinstance(module, nn.Embedding) and not module.sparse:
        return EmbeddingLayer(name, module)
    return None


def _outer_sums(rows_QCN: Tensor, *, has_bias: bool = False) -> Tensor:
    """Return sum_n x_n x_n^T of each block, with a constant 1 after x if there is a bias, in float32 or float64."""
    wide_QCN = rows_QCN.to(_wide(rows_QCN.dtype))
    sums_QCC = wide_QCN @ wide_QCN.transpose(1, 2)
    if not has_bias:
        return sums_QCC
    sums_QC = wide_QCN.sum(dim=2)
    column_QC1 = torch.cat([sums_QC, sums_QC.new_full((len(sums_QC), 1), wide_QCN.shape[2])], dim=1).unsqueeze(2)
    return torch.cat([torch.cat([sums_QCC, sums_QC.unsqueeze(1)], dim=1), column_QC1], dim=2)


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)
