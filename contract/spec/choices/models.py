"""The spec of the model."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.choices.imported import Imported
from contract.spec.numbers import Fraction, NonNegative


class ConvNet(Spec):
    """A small convolutional net with batch normalization: three convolutions and one linear layer."""

    smallest: ClassVar[int] = 1  # smallest image side in pixels
    normalizes: ClassVar[bool] = True  # has batch normalization, which needs more than one sample per pass
    kind: Literal["convnet"] = "convnet"
    width: Annotated[int, Field(ge=1, le=1024)] = 16
    """Number of channels of the first convolution."""


class LeNet(Spec):
    """LeNet (LeCun et al., 1998) as in Caffe: 431,080 parameters for 28 x 28 and 10 classes."""

    smallest: ClassVar[int] = 13
    normalizes: ClassVar[bool] = False
    kind: Literal["lenet"] = "lenet"


class AlexNet(Spec):
    """AlexNet (Krizhevsky et al., 2012) as in Caffe: 60,965,224 parameters, 62,378,344 in one group."""

    smallest: ClassVar[int] = 39
    normalizes: ClassVar[bool] = False
    kind: Literal["alexnet"] = "alexnet"
    groups: Literal[1, 2] = 2
    """Number of channel groups of the second, fourth and fifth convolution."""
    dropout: Fraction = 0.5
    """Fraction of the activations that dropout sets to 0."""


class AlexNetBN(Spec):
    """AlexNet-BN, batch-normalized as in the LARS authors' file (You et al., 2017): 60,965,224 parameters."""

    smallest: ClassVar[int] = 39
    normalizes: ClassVar[bool] = True
    kind: Literal["alexnet_bn"] = "alexnet_bn"
    dropout: Fraction = 0.5
    """Fraction of the activations that dropout sets to 0."""


class NiN(Spec):
    """Network in Network (Lin et al., 2013), used by FireCaffe: 7,595,176 parameters."""

    smallest: ClassVar[int] = 39
    normalizes: ClassVar[bool] = False
    kind: Literal["nin"] = "nin"
    dropout: Fraction = 0.5
    """Fraction of the activations that dropout sets to 0."""


class GoogLeNet(Spec):
    """GoogLeNet (Szegedy et al., 2014): 13,378,280 parameters with both auxiliary heads, 6,998,552 without."""

    smallest: ClassVar[int] = 31
    normalizes: ClassVar[bool] = False
    kind: Literal["googlenet"] = "googlenet"
    aux_weight: NonNegative = 0.3
    """Weight of the auxiliary heads' losses; 0 removes the heads."""


class GoogLeNetBN(Spec):
    """GoogLeNet-BN: batch-normalized Inception (Ioffe & Szegedy, 2015), used by Kumar et al.: 11,194,984 parameters."""

    smallest: ClassVar[int] = 1
    normalizes: ClassVar[bool] = True
    kind: Literal["googlenet_bn"] = "googlenet_bn"


class VGG(Spec):
    """VGG (Simonyan & Zisserman, 2014) without normalization: 138,357,544 and 143,667,240 parameters."""

    smallest: ClassVar[int] = 32
    normalizes: ClassVar[bool] = False
    kind: Literal["vgg16", "vgg19"] = "vgg19"
    """Selects this choice, and its number of layers."""
    dropout: Fraction = 0.5
    """Fraction of the activations that dropout sets to 0."""

    @property
    def depth(self) -> int:
        """The number of layers."""
        return int(self.kind.removeprefix("vgg"))


class ResNet(Spec):
    """ResNet (He et al., 2015): 11,689,512, 21,797,672, 25,557,032 and 44,549,160 parameters."""

    smallest: ClassVar[int] = 1
    normalizes: ClassVar[bool] = True
    kind: Literal["resnet18", "resnet34", "resnet50", "resnet101"] = "resnet50"
    """Selects this choice, and its number of layers."""
    zero_gamma: bool = False
    """Whether every block starts as the identity (Goyal et al., 2017, section 5.1)."""

    @property
    def depth(self) -> int:
        """The number of layers."""
        return int(self.kind.removeprefix("resnet"))


class ResNet50V2(Spec):
    """ResNet-50 with activations before the convolutions (He et al., 2016): 25,549,352 parameters."""

    smallest: ClassVar[int] = 1
    normalizes: ClassVar[bool] = True
    kind: Literal["resnet50_v2"] = "resnet50_v2"


class GNMT(Spec):
    """GNMT (Wu et al., 2016) version 2, for sentence pairs: 160 million parameters with 32,000 tokens."""

    smallest: ClassVar[int] = 0
    normalizes: ClassVar[bool] = False
    kind: Literal["gnmt"] = "gnmt"
    layers: Annotated[int, Field(ge=2, le=32)] = 4
    """Number of layers of the encoder, and of the decoder."""
    units: Annotated[int, Field(ge=1, le=8192)] = 1024
    """Number of units of each layer."""
    dropout: Fraction = 0.2
    """Fraction of the activations that dropout sets to 0."""


class GPT(Spec):
    """GPT: a small decoder-only transformer of the form of GPT-2 (Radford et al., 2019), for text."""

    smallest: ClassVar[int] = 0
    normalizes: ClassVar[bool] = False
    kind: Literal["gpt"] = "gpt"
    layers: Annotated[int, Field(ge=1, le=256)] = 4
    """Number of blocks of attention and perceptron."""
    width: Annotated[int, Field(ge=1, le=65_536)] = 128
    """Length of the vector of a position."""
    heads: Annotated[int, Field(ge=1, le=1024)] = 4
    """Number of attention heads; divides the width."""
    tied_head: bool = True
    """Whether the last layer has the weights of the embedding."""


class UNet3D(Spec):
    """3-D U-Net (Çiçek et al., 2016) without batch normalization, for volumes: the class of each voxel."""

    smallest: ClassVar[int] = 1
    normalizes: ClassVar[bool] = False
    kind: Literal["unet3d"] = "unet3d"
    width: Annotated[int, Field(ge=1, le=256)] = 8
    """Number of channels of the first level; each further level has twice as many."""
    levels: Annotated[int, Field(ge=1, le=6)] = 3
    """Number of levels, each with voxels of twice the edge."""


class Import(Imported):
    """A user's net: the function gets `channels` and `classes` of the data, and returns a torch.nn.Module.

    For sentence pairs it gets `vocabulary` and `padding`, for text `vocabulary`; for other data without images `shape`
    instead of `channels`.
    """

    smallest: ClassVar[int] = 1
    normalizes: ClassVar[bool] = False  # not known here; a rank looks at the net (trainers/build/check_net.py)


Model = Annotated[
    ConvNet
    | LeNet
    | AlexNet
    | AlexNetBN
    | NiN
    | GoogLeNet
    | GoogLeNetBN
    | VGG
    | ResNet
    | ResNet50V2
    | GNMT
    | GPT
    | UNet3D
    | Import,
    Field(discriminator="kind"),
]
