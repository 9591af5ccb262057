"""The summary of the EASGD benchmark: every method over its seeds, and the paper's comparisons."""

from collections.abc import Iterable
from statistics import mean, median, stdev
from typing import Any

TARGET = 0.95
COUNTERPARTS = {
    "Async EASGD": "Async SGD",
    "Async MEASGD": "Async MSGD",
    "Hogwild EASGD": "Hogwild SGD",
    "Sync EASGD 3": "Sync SGD",
}


def summarize(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for every method the medians of the times, and the means of the shares and of the accuracies."""
    of_method: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        of_method.setdefault(row["method"], []).append(row)
    points = []
    for method, own in of_method.items():
        times = [row["to_target_s"] for row in own if row["to_target_s"] is not None]
        crossed = [row["crossed_s"] for row in own if row["crossed_s"] is not None]
        ends = [row["accuracies"][-1] for row in own]
        points.append(
            {
                "method": method,
                "rate": own[0]["rate"],
                "seeds": len(own),
                "reached": len(times),
                "to_target_s": median(times) if len(times) == len(own) else None,
                "crossed_s": median(crossed) if len(crossed) == len(own) else None,
                "step_s": median(row["step_s"] for row in own),
                "communication_share": mean(row["communication_share"] for row in own),
                "idle_share": mean(row["idle_share"] for row in own),
                "accuracies": [mean(at) for at in zip(*(row["accuracies"] for row in own), strict=True)],
                "accuracy": mean(ends),
                "accuracy_stdev": stdev(ends) if len(ends) > 1 else 0.0,
            }
        )
    return points


def compare_methods(points: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the paper's comparisons: with Original EASGD, the order of the variants, and with the SGD counterparts."""
    of = {point["method"]: point for point in points}
    times = {method: point["to_target_s"] for method, point in of.items()}

    def speedup(slow: str, fast: str, field: str) -> float | None:
        both = of[slow][field], of[fast][field]
        return None if None in both else both[0] / both[1]

    order = ["Sync EASGD 3", "Sync EASGD 2", "Sync EASGD 1", "Original EASGD"]
    pairs = {own: other for own, other in COUNTERPARTS.items() if own in of}
    known = [times[method] for method in order]
    return {
        "speed-up to the target of Sync EASGD 3 over Original EASGD (paper: 5.3)": speedup(
            "Original EASGD", "Sync EASGD 3", "to_target_s"
        ),
        "the same, straight from one evaluation to the next": speedup("Original EASGD", "Sync EASGD 3", "crossed_s"),
        "the same by step": speedup("Original EASGD", "Sync EASGD 3", "step_s"),
        "communication share (paper: 0.87 and 0.14)": [of[m]["communication_share"] for m in (order[-1], order[0])],
        "EASGD 3 <= 2 <= 1 < Original, to the target": None not in known and known == sorted(known),
        "EASGD 3 <= 2 <= 1 < Original, by step": (by_step := [of[m]["step_s"] for m in order]) == sorted(by_step),
        "speed-up to the target over the SGD counterpart": {
            own: speedup(other, own, "to_target_s") for own, other in pairs.items()
        },
        "the same over the SGD counterpart, straight from one evaluation to the next": {
            own: speedup(other, own, "crossed_s") for own, other in pairs.items()
        },
        "the same over the SGD counterpart, by step": {
            own: speedup(other, own, "step_s") for own, other in pairs.items()
        },
        "accuracy epoch by epoch, of each and of its SGD counterpart": {
            own: [of[own]["accuracies"], of[other]["accuracies"]] for own, other in pairs.items()
        },
    }


def print_points(points: list[dict[str, Any]]) -> None:
    """Print one line per method."""
    for point in sorted(points, key=lambda point: point["to_target_s"] or 1e9):
        to_target = (
            f"{point['to_target_s']:7.1f} s" if point["to_target_s"] else f"{point['reached']}/{point['seeds']} seeds"
        )
        shares = f"communication {point['communication_share']:6.1%} (idle {point['idle_share']:5.1%})"
        step = f"step {point['step_s'] * 1e3:6.1f} ms"
        print(
            f"{point['method']:18} rate {point['rate']:5g}  to {TARGET:.0%}: {to_target}  {step}  {shares}"
            f"  accuracy {point['accuracy']:.2%}",
            flush=True,
        )


def print_packing(packed: list[dict[str, Any]]) -> None:
    """Print the times of the exchanges with many tensors."""
    for row in packed:
        print(f"{row['rule']:28} {row['tensors']} tensors  {row['seconds'] * 1e3:8.1f} ms", flush=True)
