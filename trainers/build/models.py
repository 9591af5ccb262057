"""Build the model."""

from typing import Any, assert_never

import torch
from torch import nn

from contract.spec.choices import models as choices
from contract.spec.choices.data import Sentences
from contract.spec.run import RunSpec
from trainers.build.imported import describe, make_part
from trainers.data.text.vocabulary import PADDING
from trainers.models.alexnet import AlexNet
from trainers.models.alexnet_bn import AlexNetBN
from trainers.models.convnet import ConvNet
from trainers.models.gnmt import GNMT
from trainers.models.googlenet import GoogLeNet
from trainers.models.lenet import LeNet
from trainers.models.nin import NiN
from trainers.models.resnet import ResNet
from trainers.models.resnet_v2 import ResNet50V2


def build_model(run: RunSpec) -> nn.Module:
    """Return the model for the run's data, with the same weights on every rank."""
    torch.manual_seed(run.seed)
    if isinstance(run.data, Sentences):
        return build_translation_model(run.model, run.data.vocabulary)
    shape, classes = tuple(run.data.shape), run.data.classes
    if isinstance(run.model, choices.Import):
        sizes = {"channels": shape[0]} if len(shape) == 3 else {"shape": shape}
        return build_own_model(run.model, classes=classes, **sizes)
    assert classes is not None
    return build_image_model(run.model, shape[0], classes)


def build_own_model(choice: choices.Import, **sizes: Any) -> nn.Module:
    """Return the net of the user's function, which gets the sizes of the data; raise TypeError if it is no net."""
    net = make_part(choice, **sizes)
    if not isinstance(net, nn.Module):
        raise TypeError(f"{choice.function} returned {describe(net)}, not a torch.nn.Module")
    return net


def build_translation_model(choice: choices.Model, vocabulary: int) -> nn.Module:
    """Return a model for sentence pairs with one vocabulary."""
    if isinstance(choice, choices.Import):
        return build_own_model(choice, vocabulary=vocabulary, padding=PADDING)
    assert isinstance(choice, choices.GNMT)
    return GNMT(vocabulary, padding=PADDING, units=choice.units, layers=choice.layers, dropout=choice.dropout)


def build_image_model(choice: choices.Model, channels: int, classes: int) -> nn.Module:
    """Return a model for images with these channels and classes; torch's generator initializes its weights."""
    assert not isinstance(choice, choices.GNMT)
    match choice:
        case choices.ConvNet(width=width):
            return ConvNet(channels, classes, width=width)
        case choices.LeNet():
            return LeNet(channels, classes)
        case choices.AlexNet(groups=groups, dropout=dropout):
            return AlexNet(channels, classes, groups=groups, dropout=dropout)
        case choices.AlexNetBN(dropout=dropout):
            return AlexNetBN(channels, classes, dropout=dropout)
        case choices.NiN(dropout=dropout):
            return NiN(channels, classes, dropout=dropout)
        case choices.GoogLeNet(aux_weight=weight):
            return GoogLeNet(channels, classes, aux_weight=weight)
        case choices.ResNet(depth=depth, zero_gamma=zero_gamma):
            return ResNet(channels, classes, depth=depth, zero_gamma=zero_gamma)
        case choices.ResNet50V2():
            return ResNet50V2(channels, classes)
        case choices.Import():
            return build_own_model(choice, channels=channels, classes=classes)
        case _:
            assert_never(choice)
