"""The two weight initializations of the nets that were published as Caffe files.

gaussian: w ~ N(0, std^2)
xavier:   w ~ U(-a, a),  a = sqrt(3 / inputs)   (Glorot & Bengio, 2010, by the inputs only, as in Caffe)

Both set all biases to one value.
"""

from typing import TypeVar

from torch import nn

Layer = TypeVar("Layer", nn.Conv2d, nn.Linear)


def gaussian(layer: Layer, std: float, *, bias: float = 0.0) -> Layer:
    """Draw a layer's weights from a normal distribution and return the layer."""
    nn.init.normal_(layer.weight, std=std)
    return _set_bias(layer, bias)


def xavier(layer: Layer, *, bias: float = 0.0) -> Layer:
    """Draw a layer's weights so that outputs and inputs have equal variance, and return the layer."""
    inputs = layer.weight[0].numel()
    bound = (3 / inputs) ** 0.5
    nn.init.uniform_(layer.weight, -bound, bound)
    return _set_bias(layer, bias)


def _set_bias(layer: Layer, value: float) -> Layer:
    if layer.bias is not None:
        nn.init.constant_(layer.bias, value)
    return layer
