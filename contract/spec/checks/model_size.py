"""The number of weights of each net, and the bytes of its batch-normalization buffers.

This module does not import torch; a test compares every number with the net. In most nets only the first layer depends
on the number of channels and only the last layers depend on the number of classes, so the number of weights is
a + b channels + c classes.
"""

from typing import NamedTuple, assert_never

from contract.spec.choices.data import Data, ImportedData, Sentences
from contract.spec.choices.models import (
    GNMT,
    AlexNet,
    AlexNetBN,
    ConvNet,
    GoogLeNet,
    Import,
    LeNet,
    Model,
    NiN,
    ResNet,
    ResNet50V2,
)

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


RESNETS = {
    18: _Counts(11_167_104, 3_136, 513, 38_560),
    34: _Counts(21_275_264, 3_136, 513, 68_384),
    50: _Counts(23_498_624, 3_136, 2_049, 212_904),
    101: _Counts(42_490_752, 3_136, 2_049, 422_208),
}


def model_size_of(model: Model, data: Data) -> ModelSize | None:
    """Return the size of the net for this data; None if the size is not known, as for an imported net."""
    if isinstance(model, Import) or (isinstance(data, ImportedData) and data.classes is None):
        return None
    if isinstance(model, GNMT):
        return ModelSize(_gnmt(model, data.vocabulary)) if isinstance(data, Sentences) else None
    if isinstance(data, Sentences):
        return None
    assert data.classes is not None
    counts = _counts(model)
    weights = counts.fixed + counts.per_channel * data.shape[0] + counts.per_class * data.classes
    return ModelSize(weights, counts.buffer_bytes)


def _counts(
    model: ConvNet | LeNet | AlexNet | AlexNetBN | NiN | GoogLeNet | ResNet | ResNet50V2,
) -> _Counts:
    match model:
        case ConvNet(width=w):
            # convolutions with w, 2 w and 4 w channels, scale and shift per channel, and 4 w maps of 2 x 2
            buffers = 2 * FLOAT_BYTES * (w + 2 * w + 4 * w) + 3 * COUNT_BYTES
            return _Counts(9 * (w * 2 * w + 2 * w * 4 * w) + 2 * 7 * w, 9 * w, 4 * 4 * w + 1, buffers)
        case LeNet():
            return _Counts(425_570, 500, 501)
        case AlexNet(groups=groups):
            return _Counts(56_833_376 if groups == 2 else 58_246_496, 11_616, 4_097)
        case AlexNetBN():
            return _Counts(56_833_376, 11_616, 4_097, 8_992)
        case NiN():
            return _Counts(6_535_328, 11_616, 1_025)
        case GoogLeNet(aux_weight=aux_weight):
            return _Counts(10_293_872, 3_136, 3_075) if aux_weight else _Counts(5_964_144, 3_136, 1_025)
        case ResNet(depth=depth):
            return RESNETS[depth]
        case ResNet50V2():
            return _Counts(23_490_944, 3_136, 2_049, 182_152)
        case _:
            assert_never(model)


def _gnmt(model: GNMT, vocabulary: int) -> int:
    u, layers = model.units, model.layers
    encoder = 2 * _lstm(u, u) + _lstm(2 * u, u) + (layers - 2) * _lstm(u, u)
    decoder = _lstm(u, u) + (layers - 1) * _lstm(2 * u, u)
    attention = 2 * u * u + 2 * u + 1
    embedding, classifier = vocabulary * u, vocabulary * (u + 1)
    return embedding + encoder + decoder + attention + classifier


def _lstm(inputs: int, u: int) -> int:
    """Return the weights of an LSTM layer: four gates, each with two matrices and two biases."""
    return 4 * (inputs * u + u * u + 2 * u)
