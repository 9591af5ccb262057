"""What the EASGD benchmark found: every method over its seeds, and the paper's comparisons among them."""

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


def summary(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every method over its seeds: medians of the times, means of the shares and of the accuracy at equal epochs."""
    of_method: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        of_method.setdefault(row["method"], []).append(row)
    out = []
    for method, mine in of_method.items():
        times = [row["to_target_s"] for row in mine if row["to_target_s"] is not None]
        crossed = [row["crossed_s"] for row in mine if row["crossed_s"] is not None]
        ends = [row["accuracies"][-1] for row in mine]
        out.append(
            {
                "method": method,
                "rate": mine[0]["rate"],
                "seeds": len(mine),
                "reached": len(times),
                "to_target_s": median(times) if len(times) == len(mine) else None,
                "crossed_s": median(crossed) if len(crossed) == len(mine) else None,
                "step_s": median(row["step_s"] for row in mine),
                "communication_share": mean(row["communication_share"] for row in mine),
                "idle_share": mean(row["idle_share"] for row in mine),
                "accuracies": [mean(at) for at in zip(*(row["accuracies"] for row in mine), strict=True)],
                "accuracy": mean(ends),
                "accuracy_stdev": stdev(ends) if len(ends) > 1 else 0.0,
            }
        )
    return out


def findings(points: list[dict[str, Any]]) -> dict[str, Any]:
    """The paper's comparisons: over Original EASGD, the order of the variants, and each method over its counterpart."""
    of = {point["method"]: point for point in points}
    times = {method: point["to_target_s"] for method, point in of.items()}

    def over(slow: str, fast: str, what: str) -> float | None:
        both = of[slow][what], of[fast][what]
        return None if None in both else both[0] / both[1]

    ladder = ["Sync EASGD 3", "Sync EASGD 2", "Sync EASGD 1", "Original EASGD"]
    pairs = {mine: other for mine, other in COUNTERPARTS.items() if mine in of}
    known = [times[method] for method in ladder]
    return {
        "speed-up to the target of Sync EASGD 3 over Original EASGD (paper: 5.3)": over(
            "Original EASGD", "Sync EASGD 3", "to_target_s"
        ),
        "the same, straight from one evaluation to the next": over("Original EASGD", "Sync EASGD 3", "crossed_s"),
        "the same by step": over("Original EASGD", "Sync EASGD 3", "step_s"),
        "communication share (paper: 0.87 and 0.14)": [of[m]["communication_share"] for m in (ladder[-1], ladder[0])],
        "EASGD 3 <= 2 <= 1 < Original, to the target": None not in known and known == sorted(known),
        "EASGD 3 <= 2 <= 1 < Original, by step": (by_step := [of[m]["step_s"] for m in ladder]) == sorted(by_step),
        "speed-up to the target over the SGD counterpart": {
            mine: over(other, mine, "to_target_s") for mine, other in pairs.items()
        },
        "the same over the SGD counterpart, straight from one evaluation to the next": {
            mine: over(other, mine, "crossed_s") for mine, other in pairs.items()
        },
        "the same over the SGD counterpart, by step": {
            mine: over(other, mine, "step_s") for mine, other in pairs.items()
        },
        "accuracy epoch by epoch, of each and of its SGD counterpart": {
            mine: [of[mine]["accuracies"], of[other]["accuracies"]] for mine, other in pairs.items()
        },
    }


def say(points: list[dict[str, Any]]) -> None:
    """Print a line for every method."""
    for point in sorted(points, key=lambda point: point["to_target_s"] or 1e9):
        took = (
            f"{point['to_target_s']:7.1f} s" if point["to_target_s"] else f"{point['reached']}/{point['seeds']} seeds"
        )
        shares = f"communication {point['communication_share']:6.1%} (idle {point['idle_share']:5.1%})"
        step = f"step {point['step_s'] * 1e3:6.1f} ms"
        print(
            f"{point['method']:18} rate {point['rate']:5g}  to {TARGET:.0%}: {took}  {step}  {shares}"
            f"  accuracy {point['accuracy']:.2%}",
            flush=True,
        )


def told(packed: list[dict[str, Any]]) -> None:
    """Print what exchanges of many tensors took."""
    for row in packed:
        print(f"{row['rule']:28} {row['tensors']} tensors  {row['seconds'] * 1e3:8.1f} ms", flush=True)
