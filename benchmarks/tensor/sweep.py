"""Why 2-D and 1-D are in the order that they are: a sweep over sizes, the seconds split into messages and bytes.

`make bench NAME=tensor.sweep` writes benchmarks/results/tensor_sweep.json: passes of a block of a GPT on a line, a
square and a cube at equal ranks over shaped links. Small passes consist of messages and large ones of bytes; each
operation's line through all sizes divides the two (split.py).

    python -m benchmarks.tensor.sweep --layouts here4       # without the lab, and without a report
"""

from typing import Any

from benchmarks.tensor.links import LAYOUTS, MESHES, carry_out, describe
from benchmarks.tensor.meshes import measure_passes
from benchmarks.tensor.split import fit_lines, split_pass
from trainers.collectives.pricing.price import FLOAT_BYTES

WIDTHS, SAMPLES = (64, 256), (4, 16, 64)
SIZES = [
    {"samples": samples, "context": 64, "width": width, "layers": 1, "vocabulary": 256}
    for width in WIDTHS
    for samples in SAMPLES
]
REPEATS = 3


def main() -> None:
    """Measure, print and write the report."""
    carry_out("tensor_sweep", measure, description=__doc__)


def measure(layouts: list[str]) -> list[dict[str, Any]]:
    """Return a row for each mesh with its passes; print a line for each pass."""
    rows = []
    for layout in layouts:
        for mesh in MESHES[LAYOUTS[layout]]:
            row = measure_passes(layout, mesh, SIZES, repeats=REPEATS)
            network = row["network"]
            lines = fit_lines((call for one in row["passes"] for call in one["calls"]), network["burst_bytes"])
            for one in row["passes"]:
                sent = FLOAT_BYTES * one["words_per_rank"]
                one["split"] = split_pass(one.pop("calls"), lines, bytes_per_rank=sent, network=network)
                print(f"{layout} {describe(mesh)}, {_describe(one)}", flush=True)
            rows.append(row | {"lines": lines})
    return rows


def _describe(one: dict[str, Any]) -> str:
    sizes, split = one["sizes"], one["split"]
    return (
        f"width {sizes['width']}, {sizes['samples'] * sizes['context']:,} tokens: {split['measured_s']:.4f} s = "
        f"{split['calls']} calls {split['messages_s']:.4f} s + bytes {split['bytes_s']:.4f} s, "
        f"{split['link_times']:.2f} times what {one['words_per_rank']:,.0f} words per rank need on a link; "
        f"priced {one['priced_s']:.4f} s"
    )


if __name__ == "__main__":
    main()
