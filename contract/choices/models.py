"""The nets that a run may train."""

from typing import Annotated, Literal

from pydantic import Field

from contract.base import Spec


class ConvNet(Spec):
    """A small convolutional net with batch normalization: three convolutions and one linear layer."""

    kind: Literal["convnet"] = "convnet"
    width: Annotated[int, Field(ge=1, le=1024)] = 16  # channels of the first convolution


class ResNet50(Spec):
    """ResNet-50 (He et al., 2015), the net of the large-batch papers: 25.6 million parameters."""

    kind: Literal["resnet50"] = "resnet50"


Model = Annotated[ConvNet | ResNet50, Field(discriminator="kind")]
