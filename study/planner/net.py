"""What a net costs per sample for a data set: of images from the measured profiles, between two sides by area."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from contract.spec.checks.model_size import FLOAT_BYTES
from contract.spec.choices.data import Bodies, Data, ImportedData, Sentences, Text
from contract.spec.choices.models import GNMT, GPT, AlexNet, ConvNet, GoogLeNet, Import, Model, UNet3D
from study.planner.net_profiles import PROFILES, Profile
from study.planner.text_and_volumes import SampleCosts, gpt_costs, unet_costs

BACKWARD = 2  # operations of the backward pass over those of the forward pass


@dataclass(frozen=True)
class NetCosts:
    """Costs of one sample: operations of forward and backward, and bytes."""

    flops: float
    activation_bytes: float
    transient_bytes: float  # the largest activation and its gradient, while backward computes it
    input_bytes: float
    is_measured: bool  # the profile has this side of images; else it is between or beyond its sides


def net_costs(model: Model, data: Data) -> NetCosts | None:
    """Return the costs; None for imported nets and for GNMT, whose LSTM layers store what their library chooses."""
    if isinstance(model, GPT) and isinstance(data, Text):
        return _of_sample(gpt_costs(model, data))
    if isinstance(model, Import | GNMT | GPT) or isinstance(data, Sentences | Text):
        return None
    if isinstance(model, UNet3D):
        is_volume = data.classes is not None and len(data.shape) == 4
        return _of_sample(unet_costs(model, tuple(data.shape), data.classes or 0)) if is_volume else None
    if isinstance(data, Bodies):
        return None
    if isinstance(data, ImportedData) and (data.classes is None or len(data.shape) != 3):
        return None
    channels, height, width = data.shape
    classes = data.classes
    assert classes is not None
    sized = [(_at_area(PROFILES[name], height * width, channels, classes), weight) for name, weight in _names(model)]
    flops, saved, largest = (sum(weight * costs[part] for costs, weight in sized) for part in range(3))
    is_measured = height == width and height in PROFILES[_names(model)[0][0]]
    return NetCosts(
        flops=(1 + BACKWARD) * flops,
        activation_bytes=saved,
        transient_bytes=2 * largest,
        input_bytes=FLOAT_BYTES * prod(data.shape),
        is_measured=is_measured,
    )


def _of_sample(costs: SampleCosts) -> NetCosts:
    return NetCosts(
        flops=(1 + BACKWARD) * costs.forward_flops,
        activation_bytes=costs.saved_bytes,
        transient_bytes=2 * costs.largest_bytes,
        input_bytes=costs.input_bytes,
        is_measured=True,
    )


def _names(model: Model) -> list[tuple[str, float]]:
    """Return the profiles of a net and their weights: of a convnet, Lagrange's for widths 1, 2 and 3."""
    match model:
        case ConvNet(width=w):
            weights = ((w - 2) * (w - 3) / 2, -(w - 1) * (w - 3), (w - 1) * (w - 2) / 2)
            return [(f"convnet {width}", weight) for width, weight in zip((1, 2, 3), weights, strict=True)]
        case AlexNet(groups=1):
            return [("alexnet 1", 1.0)]
        case GoogLeNet(aux_weight=0):
            return [("googlenet 0", 1.0)]
        case _:
            return [(model.kind, 1.0)]


def _at_area(profile: dict[int, Profile], area: int, channels: int, classes: int) -> tuple[float, float, float]:
    """Return operations, saved bytes and largest tensor, interpolated linearly in the area of the image."""
    areas = [side * side for side in profile]
    costs = [_costs(one, channels, classes) for one in profile.values()]
    if area in areas:
        return costs[areas.index(area)]
    if not areas[0] < area < areas[-1]:
        end = 0 if area < areas[0] else -1
        flops, saved, largest = (value * area / areas[end] for value in costs[end])
        return flops, saved, largest
    place = bisect_left(areas, area)
    (low, high), (one, other) = list(pairwise(areas))[place - 1], (costs[place - 1], costs[place])
    share = (area - low) / (high - low)
    flops, saved, largest = (a + share * (b - a) for a, b in zip(one, other, strict=True))
    return flops, saved, largest


def _costs(profile: Profile, channels: int, classes: int) -> tuple[float, float, float]:
    *linear, largest = profile
    flops, saved = (fixed + channels * c + classes * k for fixed, c, k in linear)
    return flops, saved, largest
