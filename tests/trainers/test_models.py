"""The nets: published sizes, accepted image sizes, initialization by the seed, and a gradient for every weight."""

from itertools import accumulate

import pytest
import torch
from pydantic import TypeAdapter
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from contract.spec.choices.models import Model
from trainers.build.models import build_image_model
from trainers.losses import CrossEntropy, Heads
from trainers.models.googlenet.batch_normalized import BLOCKS, outputs_of
from trainers.models.googlenet.net import GoogLeNet
from trainers.models.resnet import ResNet

# torchvision's tables for VGG and the ResNets, timm's (and Keras's except for the biases) for the second version; sums
# over Caffe's files for the other nets, which agree with FireCaffe's megabytes: 30 for NiN, 54 for GoogLeNet, 249 for
# AlexNet with one group
PUBLISHED = {
    "alexnet": 60_965_224,
    "alexnet_bn": 60_965_224,
    "nin": 7_595_176,
    "googlenet": 13_378_280,
    "vgg16": 138_357_544,
    "vgg19": 143_667_240,
    "resnet18": 11_689_512,
    "resnet34": 21_797_672,
    "resnet50": 25_557_032,
    "resnet101": 44_549_160,
    "resnet50_v2": 25_549_352,
}
KINDS = ["convnet", "lenet", "googlenet_bn", *PUBLISHED]
SIZE = {
    "alexnet": 227,
    "alexnet_bn": 227,
    "nin": 227,
    "lenet": 28,
    "convnet": 8,
}  # side of the published images; 224 for other nets


def choice(kind: str, **options: object) -> Model:
    model: Model = TypeAdapter(Model).validate_python({"kind": kind, **options})
    return model


def meta_net(kind: str, *, channels: int = 3, classes: int = 1000, **options: object) -> nn.Module:
    """Build a net on the meta device, which has shapes but no numbers."""
    with torch.device("meta"):
        return build_image_model(choice(kind, **options), channels, classes)


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("kind", PUBLISHED)
def test_a_net_has_the_published_number_of_parameters(kind: str) -> None:
    assert count(meta_net(kind)) == PUBLISHED[kind]


def test_variants_have_the_published_number_of_parameters() -> None:
    assert count(meta_net("lenet", channels=1, classes=10)) == 431_080
    assert count(meta_net("alexnet", groups=1)) == 62_378_344
    assert count(meta_net("googlenet", aux_weight=0.0)) == 6_998_552
    # figure 5 of Ioffe & Szegedy states the channels of each block, which are counted here
    blocks = list(BLOCKS.values())
    inputs = list(accumulate(blocks, outputs_of, initial=192))
    assert inputs[1:] == [256, 320, 576, 576, 576, 576, 576, 1024, 1024, 1024]
    assert count(meta_net("resnet50", zero_gamma=True)) == PUBLISHED["resnet50"]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("kind", KINDS)
def test_nets_accept_images_of_the_published_and_the_minimal_size_only(kind: str) -> None:
    model = meta_net(kind, channels=2, classes=7).eval()
    smallest = choice(kind).smallest
    for height, width in [(size := SIZE.get(kind, 224), size), (smallest, smallest + 9), (smallest + 30, smallest)]:
        assert model(torch.empty(2, 2, height, width, device="meta")).shape == (2, 7)
    if smallest > 1:
        with pytest.raises(RuntimeError):
            model(torch.empty(2, 2, smallest - 1, 99, device="meta"))


@pytest.mark.ring("all")
@pytest.mark.parametrize("kind", sorted({*KINDS} - {"resnet34", "resnet101"}))  # blocks of resnet18 and 50
def test_every_weight_has_a_gradient_and_is_initialized_by_the_seed(kind: str) -> None:
    torch.manual_seed(1)
    model = build_image_model(choice(kind), 1, 5)
    torch.manual_seed(1)
    again = build_image_model(choice(kind), 1, 5)
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), again.parameters(), strict=True))
    output = model(torch.randn(4, 1, 48, 48))
    assert all(logits_BK.isfinite().all() for logits_BK in (output if isinstance(output, tuple) else [output]))
    Heads(CrossEntropy(), weight=0.3)(output, torch.arange(4)).backward()
    silent = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert silent == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_choice_reports_whether_its_net_has_batch_normalization(kind: str) -> None:
    assert choice(kind).normalizes is any(isinstance(module, _BatchNorm) for module in meta_net(kind).modules())


@pytest.mark.ring("all")
def test_auxiliary_heads_exist_in_training_only() -> None:
    model = GoogLeNet(1, 5)
    x_BCHW = torch.randn(2, 1, 224, 224)
    output = model(x_BCHW)
    assert [logits_BK.shape for logits_BK in output] == [(2, 5)] * 3
    assert model.eval()(x_BCHW).shape == (2, 5)
    assert GoogLeNet(1, 5, aux_weight=0.0)(x_BCHW).shape == (2, 5)


def test_blocks_with_zero_gamma_are_the_identity() -> None:
    model = ResNet(1, 5, depth=18, zero_gamma=True)
    x_BCHW = torch.rand(2, 64, 6, 6)
    assert torch.equal(model.blocks[0](x_BCHW), x_BCHW)
    assert not torch.equal(ResNet(1, 5, depth=18).blocks[0](x_BCHW), x_BCHW)


def deviation(w: Tensor) -> float:
    return w.std().item()


@pytest.mark.ring("all")
def test_weights_are_initialized_as_in_the_papers() -> None:
    torch.manual_seed(1)
    wide, last = (
        build_image_model(choice("alexnet"), 3, 1000).classifier[2],
        build_image_model(choice("nin"), 3, 1000).layers[-4],
    )
    assert deviation(wide.weight) == pytest.approx(0.005, rel=0.01)
    assert (wide.bias == 0.1).all()
    assert deviation(last.weight) == pytest.approx(0.01, rel=0.01)
    assert (last.bias == 0).all()
    google = GoogLeNet(3, 1000)
    # U(-a, a) with a = sqrt(3 / inputs) has the deviation 1 / sqrt(inputs)
    assert deviation(google.classifier[-1].weight) == pytest.approx(1024**-0.5, rel=0.01)
    assert (google.to_5b[0].one[0].bias == 0.2).all()
    he = ResNet(3, 1000).blocks[-1].residual[3].weight
    assert deviation(he) == pytest.approx((2 / (9 * 512)) ** 0.5, rel=0.01)
