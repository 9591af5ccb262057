"""Known devices: their peak rates and memory as their makers state them, and the share of the peak that nets reach.

The share is an assumption where no measurement is given: published throughputs of ResNet-50 are 0.46 of the float32
peak of a P100 (197.5 images/s: log of the LARS authors, github.com/borisgin/nvcaffe-0.16), 0.57 of that of a V100
(367 images/s), and of the 16-bit peak 0.24 of a V100's (1,200) and 0.19 of an A100's (2,470 images/s: NVIDIA's
DeepLearningExamples).
"""

from dataclasses import dataclass

FLOAT32_SHARE, HALF_SHARE = 0.45, 0.2
GB = 10**9


@dataclass(frozen=True)
class Device:
    """One device of one rank; `half_flops` is the peak in bfloat16 or float16, None without faster 16-bit units."""

    name: str
    title: str
    float32_flops: float
    half_flops: float | None
    memory_bytes: float
    source: str

    def flops(self, *, is_half: bool) -> float:
        """Return the operations per second that a net is assumed to reach."""
        if is_half and self.half_flops is not None:
            return HALF_SHARE * self.half_flops
        return FLOAT32_SHARE * self.float32_flops


NVIDIA, INTEL = "NVIDIA's data sheet", "Intel's product page (cores x clock x operations of a cycle)"
DEVICES = {
    device.name: device
    for device in (
        Device("k20x", "NVIDIA Tesla K20X", 3.95e12, None, 6 * GB, NVIDIA),
        Device("p40", "NVIDIA Tesla P40", 11.76e12, None, 24 * GB, NVIDIA),
        Device("p100", "NVIDIA Tesla P100 SXM2 16 GB", 10.6e12, 21.2e12, 16 * GB, NVIDIA),
        Device("v100", "NVIDIA V100 SXM2 16 GB", 15.7e12, 125e12, 16 * GB, NVIDIA),
        Device("a100", "NVIDIA A100 SXM 80 GB", 19.5e12, 312e12, 80 * GB, NVIDIA),
        Device("h100", "NVIDIA H100 SXM 80 GB", 66.9e12, 989e12, 80 * GB, NVIDIA),
        Device("knl7250", "Intel Xeon Phi 7250", 68 * 1.4e9 * 64, None, 16 * GB, INTEL),
        Device("xeon8160", "Intel Xeon Platinum 8160, one socket", 24 * 2.1e9 * 64, None, 96 * GB, INTEL),
    )
}
