"""Build the model."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from contract.spec.base import Spec
from contract.spec.choices import models as choices
from contract.spec.choices.data import Sentences, Text
from contract.spec.run import RunSpec
from trainers.build.imported import describe, make_part
from trainers.data.text.vocabulary import PADDING
from trainers.generators.seeds import seed_alike
from trainers.models.alexnet import AlexNet
from trainers.models.alexnet_bn import AlexNetBN
from trainers.models.convnet import ConvNet
from trainers.models.gnmt import GNMT
from trainers.models.googlenet.batch_normalized import GoogLeNetBN
from trainers.models.googlenet.net import GoogLeNet
from trainers.models.gpt import GPT
from trainers.models.lenet import LeNet
from trainers.models.nin import NiN
from trainers.models.resnet import ResNet
from trainers.models.resnet_v2 import ResNet50V2
from trainers.models.unet3d import UNet3D
from trainers.models.vgg import VGG

WITHOUT_OPTIONS: dict[type[Spec], Callable[[int, int], nn.Module]] = {
    choices.LeNet: LeNet,
    choices.GoogLeNetBN: GoogLeNetBN,
    choices.ResNet50V2: ResNet50V2,
}


def build_model(run: RunSpec) -> nn.Module:
    """Return the model for the run's data, with the same weights on every rank."""
    seed_alike(run.seed, "model")
    torch.manual_seed(run.seed)  # the weights of the engine's nets are those of this seed
    if isinstance(run.data, Sentences):
        return build_translation_model(run.model, run.data.vocabulary)
    if isinstance(run.data, Text):
        return build_language_model(run.model, run.data)
    shape, classes = tuple(run.data.shape), run.data.classes
    if isinstance(run.model, choices.Import):
        sizes = {"channels": shape[0]} if len(shape) == 3 else {"shape": shape}
        return build_own_model(run.model, classes=classes, **sizes)
    assert classes is not None
    if isinstance(run.model, choices.UNet3D):
        return UNet3D(shape[0], classes, width=run.model.width, levels=run.model.levels)
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


def build_language_model(choice: choices.Model, data: Text) -> nn.Module:
    """Return a model for text; torch's generator initializes its weights."""
    if isinstance(choice, choices.Import):
        return build_own_model(choice, vocabulary=data.vocabulary)
    assert isinstance(choice, choices.GPT)
    sizes = {"context": data.context, "width": choice.width, "layers": choice.layers, "heads": choice.heads}
    return GPT(data.vocabulary, **sizes, has_tied_head=choice.tied_head)


def build_image_model(choice: choices.Model, channels: int, classes: int) -> nn.Module:
    """Return a model for images with these channels and classes; torch's generator initializes its weights."""
    assert not isinstance(choice, choices.GNMT | choices.GPT | choices.UNet3D)
    match choice:
        case choices.ConvNet(width=width):
            return ConvNet(channels, classes, width=width)
        case choices.AlexNet(groups=groups, dropout=dropout):
            return AlexNet(channels, classes, groups=groups, dropout=dropout)
        case choices.AlexNetBN(dropout=dropout):
            return AlexNetBN(channels, classes, dropout=dropout)
        case choices.NiN(dropout=dropout):
            return NiN(channels, classes, dropout=dropout)
        case choices.GoogLeNet(aux_weight=weight):
            return GoogLeNet(channels, classes, aux_weight=weight)
        case choices.VGG(depth=depth, dropout=dropout):
            return VGG(channels, classes, depth=depth, dropout=dropout)
        case choices.ResNet(depth=depth, zero_gamma=zero_gamma):
            return ResNet(channels, classes, depth=depth, zero_gamma=zero_gamma)
        case choices.Import():
            return build_own_model(choice, channels=channels, classes=classes)
        case _:
            return WITHOUT_OPTIONS[type(choice)](channels, classes)
