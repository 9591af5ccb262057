"""What a GPT and a 3-D U-Net cost per sample, in closed form: operations, and the tensors that autograd saves.

A GPT of L blocks, width D and H heads on T tokens of V kinds saves, in numbers of a sample,

    L (16 T D + 4 T + H T) + 2 T D + 2 T + V T

In a block: the inputs of both norms and of the four matrices (4 T D + T D + 4 T D), Q, K and V, the outputs of the
attention and of the first matrix; two statistics of each norm; the attention's sum of exponentials of each head, where
its kernel does not store the T x T scores. Then the last norm and the loss, whose softmax is saved.

A 3-D U-Net with w_l channels and N_l voxels at level l saves 2 w_l N_l numbers on the way down, 4 w_l N_l on the way
up, the output of each pooling and its indices of 8 bytes, and the softmax of the loss. Tests compare both forms with
the tensors that torch saves.
"""

from dataclasses import dataclass

from contract.spec.checks.model_size import FLOAT_BYTES
from contract.spec.choices.data import Text
from contract.spec.choices.models import GPT, UNet3D

INDEX_BYTES = 8  # of a token, of a voxel's class, and of a pooling's index


@dataclass(frozen=True)
class SampleCosts:
    """Of one sample: operations of the forward pass, saved bytes, bytes of the largest tensor and of the batch."""

    forward_flops: float
    saved_bytes: float
    largest_bytes: float
    input_bytes: float


def gpt_costs(model: GPT, data: Text) -> SampleCosts:
    """Return the costs of a window of text."""
    width, layers, tokens, vocabulary = model.width, model.layers, data.context, data.vocabulary
    in_blocks = layers * (16 * tokens * width + 4 * tokens + model.heads * tokens)
    numbers = in_blocks + 2 * tokens * width + 2 * tokens + vocabulary * tokens
    matrices = 2.0 * tokens * (12 * width * width * layers + vocabulary * width)
    return SampleCosts(
        forward_flops=matrices + 4.0 * tokens * tokens * width * layers,
        saved_bytes=FLOAT_BYTES * numbers,
        largest_bytes=FLOAT_BYTES * tokens * max(4 * width, vocabulary),
        input_bytes=2 * INDEX_BYTES * tokens,
    )


def unet_costs(model: UNet3D, shape: tuple[int, ...], classes: int) -> SampleCosts:
    """Return the costs of a volume of `shape` (channels, depth, height, width) with a class for each voxel."""
    channels, *sides = shape
    multiple = 2 ** (model.levels - 1)
    padded = [-(-side // multiple) * multiple for side in sides]
    given = sides[0] * sides[1] * sides[2]
    voxels = [padded[0] * padded[1] * padded[2] // 8**level for level in range(model.levels)]
    widths = [model.width * 2**level for level in range(model.levels)]
    numbers = sum(2 * w * n for w, n in zip(widths, voxels, strict=True)) + classes * given
    numbers += channels * voxels[0] if padded != sides else 0
    flops = 27 * (channels * widths[0] + widths[0] ** 2) * voxels[0] + widths[0] * classes * voxels[0]
    indices = 0
    for level in range(1, model.levels):
        above, below = widths[level - 1], widths[level]
        numbers += above * voxels[level] + 4 * above * voxels[level - 1]
        indices += above * voxels[level]
        flops += 27 * (above * below + below**2) * voxels[level]  # down
        # up: the transposed convolution of 2 x 2 x 2, whose voxels each have one weight of it, and two convolutions
        flops += (below * above + 27 * 3 * above**2) * voxels[level - 1]
    largest = (2 if model.levels > 1 else 1) * widths[0] * voxels[0]
    return SampleCosts(
        forward_flops=2.0 * flops,
        saved_bytes=FLOAT_BYTES * numbers + INDEX_BYTES * indices,
        largest_bytes=FLOAT_BYTES * max(largest, classes * given),
        input_bytes=(FLOAT_BYTES * channels + INDEX_BYTES) * given,
    )
