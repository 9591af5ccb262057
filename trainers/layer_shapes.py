"""The layers of the project's nets that K-FAC preconditions, in the order of their modules.

This module loads no torch, because the API prices K-FAC with it. A test compares it with the nets themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from contract.spec.base import Spec
from contract.spec.choices import models as choices
from trainers.preconditioners.shapes import BlockShape

RESNETS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}
WIDTHS, EXPANSION = (64, 128, 256, 512), 4
VGGS = {16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
NORMALIZED_INCEPTIONS = (  # channels of 1 x 1, of 3 x 3 and of two 3 x 3 (reduced, output), of pooling
    (64, (64, 64), (64, 96), 32),
    (64, (64, 96), (64, 96), 64),
    (0, (128, 160), (64, 96), 0),
    (224, (64, 96), (96, 128), 128),
    (192, (96, 128), (96, 128), 128),
    (160, (128, 160), (128, 160), 96),
    (96, (128, 192), (160, 192), 96),
    (0, (128, 192), (192, 256), 0),
    (352, (192, 320), (160, 224), 128),
    (352, (192, 320), (192, 224), 128),
)
INCEPTIONS = {  # channels of 1 x 1, of 3 x 3 and 5 x 5 (reduced, output), of pooling
    "3a": (64, (96, 128), (16, 32), 32),
    "3b": (128, (128, 192), (32, 96), 64),
    "4a": (192, (96, 208), (16, 48), 64),
    "4b": (160, (112, 224), (24, 64), 64),
    "4c": (128, (128, 256), (24, 64), 64),
    "4d": (112, (144, 288), (32, 64), 64),
    "4e": (256, (160, 320), (32, 128), 128),
    "5a": (256, (160, 320), (32, 128), 128),
    "5b": (384, (192, 384), (48, 128), 128),
}


@dataclass(frozen=True)
class LayerShape:
    """A block of weights, and how many locations of a sample use it."""

    block: BlockShape
    locations: int

    @property
    def forward_flops(self) -> float:
        """Multiplications and additions of a forward pass of one sample."""
        return 0.0 if self.block.is_diagonal else 2.0 * self.locations * self.block.weights


ImageModel = (  # nets for images, without imported ones
    choices.ConvNet
    | choices.LeNet
    | choices.AlexNet
    | choices.AlexNetBN
    | choices.NiN
    | choices.GoogLeNet
    | choices.GoogLeNetBN
    | choices.VGG
    | choices.ResNet
    | choices.ResNet50V2
)


def layer_shapes(model: choices.Model, *, channels: int, pixels: int, classes: int) -> list[LayerShape]:
    """Return the layers of a net for square images.

    Raise ValueError for an imported net, whose layers only its own code knows, and for nets without images: those of a
    GPT are in `gpt_shapes`; most of GNMT is LSTM layers, which have no K-FAC; volumes are not square images.
    """
    if isinstance(model, choices.Import | choices.GNMT | choices.GPT | choices.UNet3D):
        raise ValueError(f"the model {model.kind} has layers that K-FAC's price does not know")
    net = _Net(channels, pixels)
    _add_layers(net, model, classes)
    return net.layers


def gpt_shapes(model: choices.GPT, *, context: int, vocabulary: int) -> list[LayerShape]:
    """Return the linear layers and embeddings of a GPT; a tied head stands for the embedding of the tokens too."""
    width = model.width
    blocks = [BlockShape("embedding.positions", context, width, is_diagonal=True)]
    if not model.tied_head:
        blocks.insert(0, BlockShape("embedding.tokens", vocabulary, width, is_diagonal=True))
    for number in range(model.layers):
        sizes = {"attention.qkv": (1, 3), "attention.proj": (1, 1), "fc1": (1, 4), "fc2": (4, 1)}
        for name, (inputs, outputs) in sizes.items():
            blocks.append(BlockShape(f"blocks.{number}.{name}", inputs * width + 1, outputs * width))
    blocks.append(BlockShape("head", width, vocabulary))
    return [LayerShape(block, context) for block in blocks]


def _add_layers(net: "_Net", model: ImageModel, classes: int) -> None:
    match model:
        case choices.ConvNet(width=width):
            for factor, stride in ((1, 1), (2, 2), (4, 2)):
                net.convolution(factor * width, 3, stride=stride, padding=1, has_bias=False)
            net.pool_to(2).linear(classes)
        case choices.AlexNet(groups=groups):
            _alexnet(net, groups, classes)
        case choices.GoogLeNet(aux_weight=aux_weight):
            _googlenet(net, classes, has_heads=aux_weight > 0)
        case choices.VGG(depth=depth):
            _vgg(net, depth, classes)
        case choices.ResNet(depth=depth):
            _resnet(net, depth, classes)
        case _:
            WITHOUT_OPTIONS[type(model)](net, classes)


@dataclass
class _Net:
    """The channels and the pixels of a side of the current map, and the layers so far."""

    channels: int
    side: int
    layers: list[LayerShape] = field(default_factory=list)

    def convolution(
        self, outputs: int, size: int, *, stride: int = 1, padding: int = 0, groups: int = 1, has_bias: bool = True
    ) -> "_Net":
        self.side = (self.side + 2 * padding - size) // stride + 1
        inputs = self.channels // groups * size * size + has_bias
        for _ in range(groups):
            self._add(inputs, outputs // groups, self.side**2)
        self.channels = outputs
        return self

    def pool(self, size: int, *, stride: int = 2, padding: int = 0, ceil: bool = True) -> "_Net":
        left = self.side + 2 * padding - size
        self.side = (-(-left // stride) if ceil else left // stride) + 1
        return self

    def pool_to(self, side: int) -> "_Net":
        self.side = side
        return self

    def linear(self, outputs: int) -> "_Net":
        self._add(self.channels * self.side**2 + 1, outputs, 1)
        self.channels, self.side = outputs, 1
        return self

    def branch(self) -> "_Net":
        """Return a net that begins at the current map and adds to the same layers."""
        return _Net(self.channels, self.side, self.layers)

    def _add(self, inputs: int, outputs: int, locations: int) -> None:
        self.layers.append(LayerShape(BlockShape(str(len(self.layers)), inputs, outputs), locations))


def _lenet(net: _Net, classes: int) -> None:
    net.convolution(20, 5).pool(2).convolution(50, 5).pool(2).pool_to(4).linear(500).linear(classes)


def _alexnet(net: _Net, groups: int, classes: int) -> None:
    net.convolution(96, 11, stride=4).pool(3).convolution(256, 5, padding=2, groups=groups).pool(3)
    net.convolution(384, 3, padding=1).convolution(384, 3, padding=1, groups=groups)
    net.convolution(256, 3, padding=1, groups=groups).pool(3).pool_to(6).linear(4096).linear(4096).linear(classes)


def _nin(net: _Net, classes: int) -> None:
    for outputs, size, stride, padding in ((96, 11, 4, 0), (256, 5, 1, 2), (384, 3, 1, 1)):
        net.convolution(outputs, size, stride=stride, padding=padding)
        net.convolution(outputs, 1).convolution(outputs, 1).pool(3)
    net.convolution(1024, 3, padding=1).convolution(1024, 1).convolution(classes, 1)


def _googlenet(net: _Net, classes: int, *, has_heads: bool) -> None:
    net.convolution(64, 7, stride=2, padding=3).pool(3).convolution(64, 1).convolution(192, 3, padding=1).pool(3)
    at_4a, at_4d = net, net
    for name in INCEPTIONS:
        if name in ("4a", "5a"):
            net.pool(3)
        _inception(net, name)
        if name == "4a":
            at_4a = _Net(net.channels, net.side)
        if name == "4d":
            at_4d = _Net(net.channels, net.side)
    if has_heads:
        for head in (at_4a, at_4d):
            head.layers = net.layers
            head.pool_to(4).convolution(128, 1).linear(1024).linear(classes)
    net.pool_to(1).linear(classes)


def _inception(net: _Net, name: str) -> None:
    one, three, five, pool = INCEPTIONS[name]
    net.branch().convolution(one, 1)
    net.branch().convolution(three[0], 1).convolution(three[1], 3, padding=1)
    net.branch().convolution(five[0], 1).convolution(five[1], 5, padding=2)
    net.branch().convolution(pool, 1)
    net.channels = one + three[1] + five[1] + pool


def _googlenet_bn(net: _Net, classes: int) -> None:
    net.convolution(64, 7, stride=2, padding=3, has_bias=False).pool(3, padding=1, ceil=False)
    net.convolution(64, 1, has_bias=False).convolution(192, 3, padding=1, has_bias=False).pool(3, padding=1, ceil=False)
    for one, three, double, pool in NORMALIZED_INCEPTIONS:
        stride, inputs = 1 if one else 2, net.channels
        if one:
            net.branch().convolution(one, 1, has_bias=False)
        branch = net.branch().convolution(three[0], 1, has_bias=False)
        branch.convolution(three[1], 3, stride=stride, padding=1, has_bias=False)
        double_branch = net.branch().convolution(double[0], 1, has_bias=False)
        double_branch.convolution(double[1], 3, padding=1, has_bias=False)
        double_branch.convolution(double[1], 3, stride=stride, padding=1, has_bias=False)
        pooled = net.branch().pool(3, stride=stride, padding=1, ceil=False)
        if pool:
            pooled.convolution(pool, 1, has_bias=False)
        net.channels, net.side = one + three[1] + double[1] + (pool or inputs), pooled.side
    net.pool_to(1).linear(classes)


def _vgg(net: _Net, depth: int, classes: int) -> None:
    for width, count in zip((*WIDTHS, WIDTHS[-1]), VGGS[depth], strict=True):
        for _ in range(count):
            net.convolution(width, 3, padding=1)
        net.pool(2, ceil=False)
    net.pool_to(7).linear(4096).linear(4096).linear(classes)


def _resnet(net: _Net, depth: int, classes: int) -> None:
    net.convolution(64, 7, stride=2, padding=3, has_bias=False).pool(3, padding=1, ceil=False)
    for stage, (width, count) in enumerate(zip(WIDTHS, RESNETS[depth], strict=True)):
        for number in range(count):
            stride = 2 if stage and number == 0 else 1
            outputs = width if depth < 50 else EXPANSION * width
            shortcut = net.branch()
            if depth < 50:
                net.convolution(width, 3, stride=stride, padding=1, has_bias=False)
                net.convolution(width, 3, padding=1, has_bias=False)
            else:
                _bottleneck(net, width, stride)
            if stride != 1 or shortcut.channels != outputs:
                shortcut.convolution(outputs, 1, stride=stride, has_bias=False)
    net.pool_to(1).linear(classes)


def _resnet_v2(net: _Net, classes: int) -> None:
    net.convolution(64, 7, stride=2, padding=3, has_bias=False).pool(3, padding=1, ceil=False)
    for stage, (width, count) in enumerate(zip(WIDTHS, RESNETS[50], strict=True)):
        for number in range(count):
            stride = 2 if stage and number == 0 else 1
            shortcut = net.branch()
            _bottleneck(net, width, stride)
            if stride != 1 or shortcut.channels != net.channels:
                shortcut.convolution(net.channels, 1, stride=stride, has_bias=False)
    net.pool_to(1).linear(classes)


def _bottleneck(net: _Net, width: int, stride: int) -> None:
    net.convolution(width, 1, has_bias=False).convolution(width, 3, stride=stride, padding=1, has_bias=False)
    net.convolution(EXPANSION * width, 1, has_bias=False)


WITHOUT_OPTIONS: dict[type[Spec], Callable[[_Net, int], object]] = {  # nets whose layers no option changes
    choices.LeNet: _lenet,
    choices.AlexNetBN: lambda net, classes: _alexnet(net, 2, classes),
    choices.NiN: _nin,
    choices.GoogLeNetBN: _googlenet_bn,
    choices.ResNet50V2: _resnet_v2,
}
