"""The nets: their size, the images they take, and the same start on every rank."""

import pytest
import torch
from torch import nn

from trainers.models.convnet import ConvNet
from trainers.models.resnet50 import ResNet50


def test_resnet50_has_the_published_number_of_parameters() -> None:
    assert sum(p.numel() for p in ResNet50(3, 1000).parameters()) == 25_557_032


@pytest.mark.parametrize(("channels", "height", "width", "classes"), [(1, 8, 8, 7), (3, 40, 9, 10)])
@pytest.mark.parametrize("net", [ConvNet, ResNet50])
def test_any_image_from_8_pixels_up_is_taken(
    net: type[nn.Module], channels: int, height: int, width: int, classes: int
) -> None:
    with torch.no_grad():
        logits_BK = net(channels, classes)(torch.randn(2, channels, height, width))
    assert logits_BK.shape == (2, classes)
    assert logits_BK.isfinite().all()
