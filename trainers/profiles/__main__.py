"""The command `python -m trainers.profiles`: write study/planner/net_profiles.py from the nets themselves.

Costs are linear in the channels of the input and in the number of classes, so three measurements give them for all. The
convnet's are quadratic in its width, which its profiles at three widths determine.
"""

from pathlib import Path

import torch

from contract.spec.choices import models as choices
from trainers.build.models import build_image_model
from trainers.profiles.measure import measure_net

PATH = Path(__file__).parents[2] / "study" / "planner" / "net_profiles.py"
SIDES = (8, 28, 32, 64, 96, 128, 160, 192, 224, 256, 384, 512)
CHANNELS, CLASSES = 3, 10
NETS: dict[str, choices.Model] = {
    **{f"convnet {width}": choices.ConvNet(width=width) for width in (1, 2, 3)},
    "lenet": choices.LeNet(),
    "alexnet": choices.AlexNet(),
    "alexnet 1": choices.AlexNet(groups=1),
    "alexnet_bn": choices.AlexNetBN(),
    "nin": choices.NiN(),
    "googlenet": choices.GoogLeNet(),
    "googlenet 0": choices.GoogLeNet(aux_weight=0.0),
    "googlenet_bn": choices.GoogLeNetBN(),
    **{f"vgg{depth}": choices.VGG.model_validate({"kind": f"vgg{depth}"}) for depth in (16, 19)},
    **{f"resnet{depth}": choices.ResNet.model_validate({"kind": f"resnet{depth}"}) for depth in (18, 34, 50, 101)},
    "resnet50_v2": choices.ResNet50V2(),
}
HEADER = '''"""Costs per sample of the nets, as `python -m trainers.profiles` measures them on torch's meta device.

For each side of the image in pixels: operations of the forward pass, then bytes that it saves for backward, each as
(fixed, per channel of the input, per class); then the bytes of the largest saved tensor.
"""

Linear = tuple[int, int, int]
Profile = tuple[Linear, Linear, int]

PROFILES: dict[str, dict[int, Profile]] = {
'''


def measure_at(choice: choices.Model, side: int) -> tuple[list[int], list[int], int]:
    """Return the profile of a net for images of one side."""
    points = []
    for channels, classes in ((CHANNELS, CLASSES), (CHANNELS + 1, CLASSES), (CHANNELS, CLASSES + 1)):
        with torch.device("meta"):
            net = build_image_model(choice, channels, classes)
        points.append(measure_net(net, (channels, side, side), classes))
    linear = []
    for here, more_channels, more_classes in (tuple(p.flops for p in points), tuple(p.saved_bytes for p in points)):
        per_channel, per_class = more_channels - here, more_classes - here
        linear.append([here - CHANNELS * per_channel - CLASSES * per_class, per_channel, per_class])
    return linear[0], linear[1], points[0].largest_bytes


def make_text() -> str:
    """Return the whole file."""
    lines = [HEADER]
    for name, choice in NETS.items():
        lines.append(f'    "{name}": {{\n')
        for side in SIDES:
            if side >= choice.smallest:
                flops, saved, largest = measure_at(choice, side)
                lines.append(f"        {side}: ({tuple(flops)}, {tuple(saved)}, {largest}),\n")
        lines.append("    },\n")
    return "".join([*lines, "}\n"])


if __name__ == "__main__":
    PATH.write_text(make_text())
