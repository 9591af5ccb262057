"""The number of weights of each net, and the bytes of its batch-normalization buffers.

This module does not import torch; a test compares every number with the net. In most nets only the first layer depends
on the number of channels and only the last layers depend on the number of classes, so the number of weights is
a + b channels + c classes.
"""

from typing import NamedTuple

from contract.spec.choices.data import Data, ImportedData, Sentences, Text, Tokens
from contract.spec.choices.models import GNMT, GPT, AlexNet, ConvNet, GoogLeNet, Import, Model, UNet3D

FLOAT_BYTES, COUNT_BYTES = 4, 8


class ModelSize(NamedTuple):
    """The number of weights and the bytes of buffers of a net."""

    weights: int
    buffer_bytes: int = 0


class _Counts(NamedTuple):
    """The constants a, b and c of a net's number of weights, and its buffers."""

    fixed: int
    per_channel: int
    per_class: int
    buffer_bytes: int = 0


SIZES = {  # of the nets whose size no option changes
    "lenet": _Counts(425_570, 500, 501),
    "alexnet_bn": _Counts(56_833_376, 11_616, 4_097, 8_992),
    "nin": _Counts(6_535_328, 11_616, 1_025),
    "googlenet_bn": _Counts(10_160_576, 3_136, 1_025, 80_168),
    "vgg16": _Counts(134_258_816, 576, 4_097),
    "vgg19": _Counts(139_568_512, 576, 4_097),
    "resnet18": _Counts(11_167_104, 3_136, 513, 38_560),
    "resnet34": _Counts(21_275_264, 3_136, 513, 68_384),
    "resnet50": _Counts(23_498_624, 3_136, 2_049, 212_904),
    "resnet101": _Counts(42_490_752, 3_136, 2_049, 422_208),
    "resnet50_v2": _Counts(23_490_944, 3_136, 2_049, 182_152),
}


def model_size_of(model: Model, data: Data) -> ModelSize | None:
    """Return the size of the net for this data; None if the size is not known, as for an imported net."""
    if isinstance(model, Import) or (isinstance(data, ImportedData) and data.classes is None):
        return None
    if isinstance(model, GNMT):
        return ModelSize(_gnmt(model, data.vocabulary)) if isinstance(data, Sentences) else None
    if isinstance(model, GPT):
        return ModelSize(_gpt(model, data)) if isinstance(data, Text) else None
    if isinstance(data, Tokens):
        return None
    assert data.classes is not None
    counts = _counts(model)
    weights = counts.fixed + counts.per_channel * data.shape[0] + counts.per_class * data.classes
    return ModelSize(weights, counts.buffer_bytes)


def _counts(model: Model) -> _Counts:
    match model:
        case ConvNet(width=w):
            # convolutions with w, 2 w and 4 w channels, scale and shift per channel, and 4 w maps of 2 x 2
            buffers = 2 * FLOAT_BYTES * (w + 2 * w + 4 * w) + 3 * COUNT_BYTES
            return _Counts(9 * (w * 2 * w + 2 * w * 4 * w) + 2 * 7 * w, 9 * w, 4 * 4 * w + 1, buffers)
        case AlexNet(groups=groups):
            return _Counts(56_833_376 if groups == 2 else 58_246_496, 11_616, 4_097)
        case GoogLeNet(aux_weight=aux_weight):
            return _Counts(10_293_872, 3_136, 3_075) if aux_weight else _Counts(5_964_144, 3_136, 1_025)
        case UNet3D(width=w, levels=levels):
            return _Counts(_unet3d(w, levels), 27 * w, w + 1)
        case _:
            return SIZES[model.kind]


def _unet3d(width: int, levels: int) -> int:
    """Return the weights that depend on neither channels nor classes: kernels of 3^3, and of 2^3 on the way up."""
    widths: list[int] = [width * 2**level for level in range(levels)]
    down = sum(27 * w * w + 2 * w for w in widths) + sum(27 * w * 2 * w for w in widths[:-1])
    up = sum((8 * 2 + 27 * 2 + 27) * w * w + 3 * w for w in widths[:-1])
    return down + up


def _gnmt(model: GNMT, vocabulary: int) -> int:
    u, layers = model.units, model.layers
    encoder = 2 * _lstm(u, u) + _lstm(2 * u, u) + (layers - 2) * _lstm(u, u)
    decoder = _lstm(u, u) + (layers - 1) * _lstm(2 * u, u)
    attention = 2 * u * u + 2 * u + 1
    embedding, classifier = vocabulary * u, vocabulary * (u + 1)
    return embedding + encoder + decoder + attention + classifier


def _gpt(model: GPT, data: Text) -> int:
    d, tables = model.width, data.vocabulary * (1 if model.tied_head else 2) + data.context
    return tables * d + model.layers * (12 * d * d + 13 * d) + 2 * d


def _lstm(inputs: int, u: int) -> int:
    """Return the weights of an LSTM layer: four gates, each with two matrices and two biases."""
    return 4 * (inputs * u + u * u + 2 * u)
