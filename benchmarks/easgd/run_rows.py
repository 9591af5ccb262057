"""What a run of the engine reported: accuracies and times by epoch, and the mean seconds of a step with its parts."""

from statistics import mean
from typing import Any

from benchmarks.easgd.summary import TARGET
from contract import metric_names
from contract.folder.events import Points, event_reader
from contract.folder.run_folder import RunFolder

Values = dict[str, float | None]  # of one point, by series


def read_run(folder: RunFolder, *, target: float = TARGET) -> dict[str, Any]:
    """Return the accuracies and times by epoch, the time to the target, and the mean seconds of a step by part."""
    lines = [event_reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]
    points = [event.values for event in lines if isinstance(event, Points)]
    epochs = [values for values in points if metric_names.HELDOUT_ACCURACY in values]
    steps = [values for values in points if metric_names.COMPUTE_S in values]
    parts = {part: mean(values[part] or 0.0 for values in steps) for part in metric_names.TIME_PARTS}
    reached = [
        values[metric_names.TRAINED_S] for values in epochs if (values[metric_names.HELDOUT_ACCURACY] or 0.0) >= target
    ]
    return {
        "accuracies": [values[metric_names.HELDOUT_ACCURACY] for values in epochs],
        "trained_s": [values[metric_names.TRAINED_S] for values in epochs],
        "to_target_s": reached[0] if reached else None,
        "crossed_s": crossing_time(epochs, target),
        "steps": len(steps),
        "step_s": sum(parts.values()),
        "parts_s": parts,
        "communication_share": (parts[metric_names.COMMUNICATION_S] + parts[metric_names.IDLE_S]) / sum(parts.values()),
        "idle_share": parts[metric_names.IDLE_S] / sum(parts.values()),
    }


def crossing_time(epochs: list[Values], target: float) -> float | None:
    """Return the time at which the accuracy, interpolated between evaluations, reaches the target; None if never."""
    before_s, before = 0.0, 0.0
    for values in epochs:
        at_s, accuracy = values[metric_names.TRAINED_S] or 0.0, values[metric_names.HELDOUT_ACCURACY] or 0.0
        if accuracy >= target:
            return before_s + (at_s - before_s) * (target - before) / (accuracy - before)
        before_s, before = at_s, accuracy
    return None
