"""A whole run with the techniques for large batches: stages, passes, 16 bits, normalization over ranks."""

from pathlib import Path

import pytest

from contract.folder.events import Finished, Points
from tests.testing.trainers.attempts import attempt
from tests.testing.trainers.jobs import events, losses, prepare


@pytest.mark.ring("all")
def test_a_growing_batch_in_float16_passes_trains(tmp_path: Path) -> None:
    folder = prepare(
        tmp_path / "run",
        batch=128,
        batch_stages=[{"epoch": 2, "batch": 256}],
        micro_batch=40,
        epochs=4,
        precision="float16",
        batch_norm={"group": 2, "statistics": "last_batch"},
        schedule={"kind": "constant", "rate": 1.0, "scaling": {"reference_batch": 64}},
        collective={"kind": "native"},
        resources={"kind": "local", "ranks_per_node": 2},
    )
    assert attempt(folder, 1) == [0, 0]
    reported = [event for event in events(folder) if isinstance(event, Points)]
    ends = [(event.step, event.values["batch"]) for event in reported if "batch" in event.values]
    assert ends == [(11, 128), (22, 128), (27, 256), (32, 256)]  # 1437 // 128 and 1437 // 256 steps an epoch
    rates = {event.step: event.values["learning_rate"] for event in reported if "learning_rate" in event.values}
    assert (rates[22], rates[23]) == (2.0, 4.0), "the scaled rate follows the batch"
    *_, last = events(folder)
    assert isinstance(last, Finished)
    first_loss, *_, last_loss = losses(folder)
    assert first_loss is not None
    assert last_loss is not None
    assert last_loss < first_loss / 4
    assert [event.values["heldout_accuracy"] or 0 for event in reported if "batch" in event.values][-1] > 0.9
