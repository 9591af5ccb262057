"""The choices that a run makes: model, data, optimizer, learning-rate schedule, rule, collective.

Each is a tagged union on `kind`. A new choice is one class here and one `case` in trainers/build.py; for a collective,
in trainers/plans.py.
"""

from typing import Annotated, Literal

from pydantic import Field

from contract.base import Spec

Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Fraction = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


class ConvNet(Spec):
    """A small convolutional net with batch normalization: three convolutions and one linear layer."""

    kind: Literal["convnet"] = "convnet"
    width: Annotated[int, Field(ge=1, le=1024)] = 16  # channels of the first convolution


class ResNet50(Spec):
    """ResNet-50 (He et al., 2015), the net of the large-batch papers: 25.6 million parameters."""

    kind: Literal["resnet50"] = "resnet50"


Model = Annotated[ConvNet | ResNet50, Field(discriminator="kind")]


class Digits(Spec):
    """scikit-learn's handwritten digits: 1,797 real 8 x 8 images, every fifth of a fixed shuffle held out."""

    kind: Literal["digits"] = "digits"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width of one image."""
        return 1, 8, 8

    @property
    def classes(self) -> int:
        return 10

    @property
    def train_samples(self) -> int:
        return 1437

    @property
    def heldout_samples(self) -> int:
        return 360


class Synthetic(Spec):
    """Images made from a seed: a smooth pattern per class under noise, of any size, learnable."""

    kind: Literal["synthetic"] = "synthetic"
    channels: Annotated[int, Field(ge=1, le=16)] = 3
    height: Annotated[int, Field(ge=8, le=4096)] = 32
    width: Annotated[int, Field(ge=8, le=4096)] = 32
    classes: Annotated[int, Field(ge=2, le=100_000)] = 10
    train_samples: Count = 2048
    heldout_samples: Count = 512

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width of one image."""
        return self.channels, self.height, self.width


Data = Annotated[Digits | Synthetic, Field(discriminator="kind")]


class SGD(Spec):
    """Stochastic gradient descent with momentum, as torch.optim.SGD has it."""

    kind: Literal["sgd"] = "sgd"
    momentum: Fraction = 0.9
    weight_decay: NonNegative = 0.0
    nesterov: bool = False


class LARS(Spec):
    """Layer-wise adaptive rate scaling (You et al., 2017, Algorithm 1)."""

    kind: Literal["lars"] = "lars"
    momentum: Fraction = 0.9
    weight_decay: NonNegative = 0.0005
    trust_coefficient: Positive = 0.001  # eta
    skip: Literal["none", "bias_and_norm", "one_dimensional"] = "bias_and_norm"  # these take plain momentum SGD


Optimizer = Annotated[SGD | LARS, Field(discriminator="kind")]


class Constant(Spec):
    """A linear warm-up, then one rate."""

    kind: Literal["constant"] = "constant"
    rate: Positive
    warmup_epochs: NonNegative = 0.0
    start_rate: NonNegative = 0.0


class Polynomial(Spec):
    """A linear warm-up from `start_rate`, then rate x (1 - t/T)^power, t and T counted from the run's start."""

    kind: Literal["polynomial"] = "polynomial"
    rate: Positive
    power: Positive = 2.0
    warmup_epochs: NonNegative = 0.0
    start_rate: NonNegative = 0.0


Schedule = Annotated[Constant | Polynomial, Field(discriminator="kind")]


class Sync(Spec):
    """Synchronous data-parallel SGD: gradients are averaged over all ranks before every step."""

    kind: Literal["sync"] = "sync"


Rule = Annotated[Sync, Field(discriminator="kind")]


class Native(Spec):
    """The backend's own all-reduce (gloo on CPUs, NCCL on GPUs)."""

    kind: Literal["native"] = "native"


class Ring(Spec):
    """Ring all-reduce: 2 (n - 1) rounds, bandwidth-optimal (Patarasuk & Yuan, 2009)."""

    kind: Literal["ring"] = "ring"


class Torus(Spec):
    """2D-torus all-reduce (Mikami et al., 2018) on `rows` rows of world / rows ranks."""

    kind: Literal["torus"] = "torus"
    rows: Count | None = None  # none: a host to a row; where hosts have one rank or there is one host, near a square


class Tree(Spec):
    """Binomial reduction tree (Iandola et al., FireCaffe, 2015): 2 log2 n rounds of the whole vector."""

    kind: Literal["tree"] = "tree"


class Colors(Spec):
    """Multi-color all-reduce (Kumar et al., 2017): `k` parts, each on a tree in which other ranks do the sums."""

    kind: Literal["colors"] = "colors"
    k: Count = 4


class Hierarchical(Spec):
    """Hierarchical all-reduce (Jia et al., 2018): sum in groups, a ring among their masters, back to the groups."""

    kind: Literal["hierarchical"] = "hierarchical"
    group: Count | None = None  # ranks of a group; none: those of a host


class HalvingDoubling(Spec):
    """Recursive halving and doubling (Rabenseifner, 2004): 2 log2 n rounds, bandwidth-optimal over long ways."""

    kind: Literal["halving_doubling"] = "halving_doubling"


class Server(Spec):
    """Parameter server: `servers` of the ranks sum a shard each for all. The yardstick, not the choice."""

    kind: Literal["server"] = "server"
    servers: Count = 1


Planned = Ring | Torus | Tree | Colors | Hierarchical | HalvingDoubling | Server  # those that are a plan of rounds
Collective = Annotated[Native | Planned, Field(discriminator="kind")]
