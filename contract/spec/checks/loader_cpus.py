"""Warning of ranks on GPUs whose cpus decode fewer images than a GPU trains."""

import re
from typing import TYPE_CHECKING

from contract.spec.choices.data import Folder, Shards
from contract.spec.resources import Slurm
from contract.validation import ValidationIssue

if TYPE_CHECKING:
    from contract.spec.run import RunSpec

# images that a cpu decodes in a second: JPEGs of 110 kB cropped to 224 x 224 pixels (docs/log/gpu.md)
IMAGES_PER_S = 300
ENOUGH_CPUS = 8  # a rank's own cpu and seven loader processes: 2,100 images/s, about what ResNet-50 takes on an A100
GPU = re.compile(r"(^|,)(gres[:/])?gpu\b", re.I)


def warn_of_few_cpus(run: "RunSpec") -> ValidationIssue | None:
    """Return that the loader will limit a rank with one cpu, the default of `cpus_per_rank`; None if it will not."""
    need = run.resources
    if not isinstance(need, Slurm) or not isinstance(run.data, Folder | Shards) or run.device == "cpu":
        return None
    asked = (need.devices, need.options.get("tres-per-task"))
    if need.rank_cpus > 1 or not any(isinstance(text, str) and GPU.search(text) for text in asked):
        return None
    message = (
        f"each rank has one cpu for itself and its loader, which decodes about {IMAGES_PER_S} images/s of 224 x 224 "
        f"pixels: the GPU will wait for images; set `cpus_per_rank`, for ResNet-50 to {ENOUGH_CPUS} or more"
    )
    return ValidationIssue(path="resources.cpus_per_rank", message=message)
