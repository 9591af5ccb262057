"""Plans: their parts agree with each other, more of a resource is never worse, and what is not known is refused."""

from typing import Any

import pytest

from contract.api.planning.plans import PlanReport, PlanRequest
from contract.spec.choices.collectives import Ring, Tree
from study.planner.plan import PlanError, gradient_bytes, make_plan

pytestmark = pytest.mark.ring("quick")

FOLDER = {"kind": "folder", "path": "/data", "classes": 1000, "train_samples": 1281167, "heldout_samples": 50000}
RESNET: dict[str, Any] = {
    "model": {"kind": "resnet50"},
    "data": FOLDER,
    "device": {"name": "v100"},
    "network": {"hosts": 16, "ranks_per_host": 4},
}


def plan(allreduce_s: float = 0.05, **changes: Any) -> PlanReport:
    request = PlanRequest.model_validate({**RESNET, **changes})
    return make_plan(request, [(Ring(), allreduce_s), (Tree(), 2 * allreduce_s)])


def test_the_parts_of_the_memory_are_its_sum() -> None:
    memory = plan(batch=64 * 32).memory
    assert memory
    assert sum(part.bytes for part in memory.parts) == pytest.approx(memory.total_bytes)
    weights = next(part.bytes for part in memory.parts if part.name == "weights")
    assert weights == 4 * 25_557_032


def test_the_largest_micro_batch_fits_and_one_more_sample_does_not() -> None:
    request = {"device": {"name": "v100"}}
    memory = plan(**request).memory
    assert memory
    largest = memory.largest_micro_batch
    fits = plan(batch=64 * largest, micro_batch=largest).memory
    more = plan(batch=64 * (largest + 1), micro_batch=largest + 1)
    assert fits
    assert fits.total_bytes <= fits.device_bytes
    assert more.memory
    assert more.memory.total_bytes > more.memory.device_bytes
    assert any("do not fit" in line for line in more.batch.advice)


def test_a_larger_device_takes_more_samples_and_a_larger_net_fewer() -> None:
    small, large = (plan(device={"flops": 1e13, "memory_bytes": size}).memory for size in (8e9, 32e9))
    deeper = plan(device={"flops": 1e13, "memory_bytes": 32e9}, model={"kind": "resnet101"}).memory
    assert small
    assert large
    assert deeper
    assert small.largest_micro_batch < deeper.largest_micro_batch < large.largest_micro_batch


def test_sixteen_bits_halve_the_activations_and_speed_up_the_device() -> None:
    full, half = plan(batch=2048), plan(batch=2048, precision="float16")
    assert full.memory
    assert half.memory
    assert half.memory.largest_micro_batch > 1.8 * full.memory.largest_micro_batch
    assert half.samples_per_s > full.samples_per_s


def test_times_follow_from_the_measured_speed() -> None:
    found = plan(0.0, batch=6400, epochs=10, calibration={"samples_per_s": 200.0, "source": "run 7"})
    fastest = found.options[0]
    assert fastest.step_s == pytest.approx(0.5)
    assert found.batch.steps_per_epoch == 1281167 // 6400 == 200
    assert fastest.run_s == pytest.approx(0.5 * 200 * 10)
    assert fastest.device_hours == pytest.approx(64 * 1000 / 3600)
    assert found.measured == ["200 samples/s of one rank (run 7)"]
    assert not any("peak" in line for line in found.assumed)


def test_without_a_measurement_the_share_of_the_peak_is_listed_as_assumed() -> None:
    found = plan()
    assert found.measured == []
    assert any("0.45 of the float32 peak" in line for line in found.assumed)
    assert 200 < found.samples_per_s < 400  # 367 images/s are published for a V100


def test_backward_hides_a_short_exchange_and_a_long_one_shows() -> None:
    options = {(one.rule, one.collective and one.collective.kind): one for one in plan(0.05, batch=6400).options}
    hidden, plain = options["sync", "ring"], options["sync without overlap", "ring"]
    assert hidden.exchange_s < 0.1 * plain.exchange_s
    assert plain.exchange_s == pytest.approx(0.05)
    long = next(one for one in plan(10.0, batch=6400).options if one.rule == "sync")
    assert long.exchange_s > 5


def test_a_center_that_serves_one_worker_after_the_other_grows_with_the_ranks() -> None:
    def original_s(hosts: int) -> float:
        found = plan(batch=32 * 4 * hosts, network={"hosts": hosts, "ranks_per_host": 4})
        return next(one.step_s for one in found.options if one.rule == "easgd original")

    assert original_s(64) == pytest.approx(2 * original_s(32), rel=0.01)


def test_every_rule_and_collective_is_an_option_and_the_fastest_is_first() -> None:
    found = plan()
    assert {one.rule for one in found.options} == {
        "sync", "sync without overlap", "async_sgd async",
        *(f"easgd {variant}" for variant in ("sync1", "sync2", "sync3", "original", "async", "hogwild")),
    }  # fmt: skip
    assert len(found.options) == 4 * 2 + 5
    times = [one.step_s for one in found.options]
    assert times == sorted(times)


def test_the_price_of_an_hour_makes_the_cost() -> None:
    fastest = plan(device_hour_price=2.5).options[0]
    assert fastest.cost == pytest.approx(2.5 * fastest.device_hours)
    assert plan().options[0].cost is None


def test_less_efficiency_is_asked_of_more_ranks() -> None:
    strict, loose = (plan(5.0, batch=6400, efficiency=share).scaling for share in (0.9, 0.5))
    assert strict.advised_ranks < loose.advised_ranks
    assert strict.speedup == loose.speedup < 64


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"device": {"name": "abacus"}}, "device.name", "abacus is no known device"),
        ({"batch": 10}, "batch", "no sample for some of the 64 ranks"),
        ({"model": {"kind": "import", "function": "m:f"}}, "model", "weights of import"),
        ({"model": {"kind": "gnmt"}, "data": {"kind": "reversal"}}, "calibration", "state a measured throughput"),
    ],
)
def test_what_cannot_be_planned_names_its_field(changes: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        gradient_bytes(PlanRequest.model_validate({**RESNET, **changes}))
    assert caught.value.path == path


def test_a_net_without_a_profile_is_planned_by_its_measured_speed_without_memory() -> None:
    found = plan(model={"kind": "gnmt"}, data={"kind": "reversal"}, batch=64, calibration={"samples_per_s": 10.0})
    assert found.memory is None
    assert found.sample_flops is None
    assert found.options[0].step_s >= 0.1
