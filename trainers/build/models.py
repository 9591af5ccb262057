"""The net."""

from typing import assert_never

import torch
from torch import nn

from contract.choices import models as choices
from contract.spec import RunSpec
from trainers.models.convnet import ConvNet
from trainers.models.resnet50 import ResNet50


def model(run: RunSpec) -> nn.Module:
    """The net for the run's images, with the same weights on every rank."""
    channels, classes = run.data.shape[0], run.data.classes
    torch.manual_seed(run.seed)
    match run.model:
        case choices.ConvNet(width=width):
            return ConvNet(channels, classes, width=width)
        case choices.ResNet50():
            return ResNet50(channels, classes)
        case _:
            assert_never(run.model)
