"""Reduce a paper's run to two local ranks and a few small synthetic images, with all else unchanged."""

from typing import Any

from contract.spec.run import RunSpec

RANKS, SHARE = 2, 4  # images of a rank in the smallest global batch
LEAST_PIXELS = 33


def reduced(run: RunSpec) -> RunSpec:
    """Return the same model, optimizer, schedule and epochs, with all batches divided by one number, in float32."""
    spec = run.model_dump(mode="json")
    factor = run.batch // (RANKS * SHARE)
    spec["batch"] = run.batch // factor
    for stage in spec["batch_stages"]:
        stage["batch"] //= factor
    spec["precision"] = "float32"  # 16-bit passes are slow on CPUs
    spec["micro_batch"] = SHARE // 2 if run.micro_batch else None
    pixels = max(run.model.smallest, LEAST_PIXELS)
    spec["data"] = {
        "kind": "synthetic",
        "height": pixels,
        "width": pixels,
        "train_samples": 8 * RANKS * SHARE,
        "heldout_samples": 1,
    }
    if run.model.kind == "gnmt":
        spec["data"] = {"kind": "reversal", "train_samples": 8 * RANKS * SHARE, "heldout_samples": 1}
        spec["model"]["units"] = 32  # the paper's net has 160 million weights
    spec["augmentation"] = None  # generated images have none
    if scaling := spec["schedule"]["scaling"]:
        scaling["reference_batch"] = max(1, scaling["reference_batch"] // factor)
    spec["collective"] = _for_two(spec["collective"])
    spec["resources"] = {"kind": "local", "ranks_per_node": RANKS}
    return RunSpec.model_validate(spec)


def _for_two(collective: dict[str, Any]) -> dict[str, Any]:
    """Return the same collective; its parameters that count ranks become the number of ranks."""
    return {name: RANKS if name in ("rows", "group", "k") and value else value for name, value in collective.items()}
