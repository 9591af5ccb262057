"""Seconds in collectives of a pass of a GPT on a line, a square and a cube at equal ranks, over shaped links.

`make bench NAME=tensor.links` writes benchmarks/results/tensor_links.json. The lab's hosts have links of one rate; each
mesh has one or two ranks on a host. Beside what a pass spends in collectives stands what the same collectives take when
all ranks begin each of them together (`transfer_s`), and its price: with the links, the processors and the time of a
call that the same ranks measured, and with assumed costs.

    python -m benchmarks.tensor.links --layouts here4       # without the lab, and without a report
"""

import argparse
import os
from collections.abc import Callable
from typing import Any

from benchmarks.headline.report import shaped_links, write
from benchmarks.tensor.meshes import HERE, measure_passes
from contract.spec.choices.tensor import OneD, ThreeD, TwoD

RATE = "200mbit"
SIZES = {"samples": 16, "context": 64, "width": 256, "layers": 1, "vocabulary": 256}
MESHES: dict[int, list[OneD | TwoD | ThreeD]] = {
    4: [OneD(ranks=4), TwoD(q=2)],
    8: [OneD(ranks=8), ThreeD(q=2), ThreeD(q=2, save_gathered=True)],
}
LAYOUTS = {"4x1": 4, "4x2": 8, f"{HERE}4": 4, f"{HERE}8": 8}
REPEATS = 5


def main() -> None:
    """Measure, print and write the report."""
    carry_out("tensor_links", measure, description=__doc__)


def carry_out(name: str, measure: Callable[[list[str]], list[dict[str, Any]]], *, description: str | None) -> None:
    """Measure the layouts that the command line names; on the lab's links, write the rows as the report `name`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=["4x1", "4x2"])
    layouts = parser.parse_args().layouts
    load = os.getloadavg()[0]
    if any(layout.startswith(HERE) for layout in layouts):
        measure(layouts)
        return
    with shaped_links(RATE):
        write(name, RATE, load, rows=measure(layouts))


def measure(layouts: list[str]) -> list[dict[str, Any]]:
    """Return a row for each mesh; print its line."""
    rows = []
    for layout in layouts:
        for mesh in MESHES[LAYOUTS[layout]]:
            row = measure_passes(layout, mesh, [SIZES], repeats=REPEATS)
            (found,) = row.pop("passes")
            del found["calls"]
            found["error"] = found["priced_s"] / found["transfer_s"] - 1
            rows.append(row | found)
            print(f"{layout} {describe(mesh)}: {_describe(found)}", flush=True)
    return rows


def _describe(found: dict[str, Any]) -> str:
    return (
        f"{found['communication_s']:.4f} s in collectives of {found['pass_s']:.4f} s; begun together "
        f"{found['transfer_s']:.4f} s (fastest {found['fastest_transfer_s']:.4f} s), priced {found['priced_s']:.4f} s "
        f"({found['error']:+.0%}), with assumed costs {found['priced_with_assumed_costs_s']:.4f} s; "
        f"{found['words_per_rank']:,.0f} words per rank"
    )


def describe(mesh: OneD | TwoD | ThreeD) -> str:
    """Return the kind of a mesh, and whether a cube saves what it gathers."""
    return f"{mesh.kind} (gathered saved)" if isinstance(mesh, ThreeD) and mesh.save_gathered else mesh.kind


if __name__ == "__main__":
    main()
