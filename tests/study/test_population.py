"""Population-based training: the toy problem of the paper, and what a member's next generation follows from."""

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

import pytest

from contract.spec.search.parameters import Choice, Integer, LogInteger, LogUniform, Normal, Uniform
from contract.spec.search.search import SearchSpec
from study.search.ask import ask
from study.search.population import generation_of, perturbed
from study.search.trials import Outcome, PastTrial

pytestmark = pytest.mark.ring("quick")

UNIT = {"kind": "uniform", "low": 0.0, "high": 1.0}
MEMBERS, GENERATIONS = 6, 40


def spec_of(**change: Any) -> SearchSpec:
    sampler = {"kind": "population", "members": MEMBERS, "seed": 5, **change.pop("sampler", {})}
    document = {"space": {"h0": UNIT, "h1": UNIT}, "goal": "maximize", "value": "last", "trials": MEMBERS * GENERATIONS}
    return SearchSpec.model_validate({**document, "sampler": sampler, "metric": "q", **change})


STEPS = 4  # of a generation


def trained(error: float, rate: float) -> float:
    """Return the expected squared error after a generation of stochastic gradient descent on x^2 / 2, with noise n.

    x <- x - r (x + n) with E[n^2] = 1, so E[x^2] <- (1 - r)^2 E[x^2] + r^2. A constant rate stops at r / (2 - r), and a
    small one is slow.
    """
    for _ in range(STEPS):
        error = (1 - rate) ** 2 * error + rate**2
    return error


def carry_out(search: SearchSpec, at_once: int, order: Random) -> tuple[list[PastTrial], float]:
    """Carry out a population on this problem; return its trials and the least error at the end.

    `order`: in which the generations end.
    """
    past, errors, open_ = list[PastTrial](), list[float](), list[int]()
    newest: dict[int, float] = {}
    while len(past) < (search.trials or 0) or open_:
        count = min(at_once - len(open_), (search.trials or 0) - len(past))
        for asked in ask(search, past, count) if count else []:
            begin = 1.0 if asked.memory["parent"] is None else errors[asked.memory["parent"]]
            errors.append(trained(begin, asked.params["rate"]))
            newest[asked.memory["member"]] = errors[-1]
            open_.append(asked.number)
            past.append(PastTrial(asked.params, memory=asked.memory))
        ended = open_.pop(order.randrange(len(open_)))
        past[ended] = past[ended]._replace(outcome=Outcome.ENDED, value=errors[ended])
    return past, min(newest.values())


def rates(**change: Any) -> SearchSpec:
    space = {"rate": {"kind": "log_uniform", "low": 0.001, "high": 1.0}}
    return spec_of(space=space, goal="minimize", **change)


@pytest.mark.parametrize("seed", range(5))
def test_a_population_beats_the_best_fixed_rate(seed: int) -> None:
    """With equal steps for each member: the population lowers its rate on the way, as no fixed rate can."""
    grid = [0.001 * 1000 ** (number / 400) for number in range(401)]
    fixed = []
    for rate in grid:
        error = 1.0
        for _ in range(GENERATIONS):
            error = trained(error, rate)
        fixed.append(error)
    _, found = carry_out(rates(sampler={"seed": seed}), MEMBERS, Random(seed))
    assert found < 0.9 * min(fixed)


class Theta(NamedTuple):
    """The weights of the paper's toy problem: Q = 1.2 - x^2 - y^2 is to be maximized."""

    x: float = 0.9
    y: float = 0.9

    @property
    def quality(self) -> float:
        return 1.2 - self.x**2 - self.y**2

    def trained(self, h0: float, h1: float) -> "Theta":
        """Return the weights after steps on the surrogate 1.2 - h0 x^2 - h1 y^2, whose gradient alone is known."""
        return Theta(self.x * (1 - 0.02 * h0) ** STEPS, self.y * (1 - 0.02 * h1) ** STEPS)


def test_a_population_gets_what_two_specialists_cannot() -> None:
    """The paper's Figure 2: each member trains one of the two weights only; copies combine what both have learned."""
    choice = {"kind": "choice", "values": ["x", "y"]}
    search = spec_of(space={"which": choice}, sampler={"resample": 0.5, "share": 0.34}, trials=MEMBERS * 60)
    past, weights = list[PastTrial](), list[Theta]()
    while len(past) < MEMBERS * 60:
        for asked in ask(search, past, 1):
            parent = asked.memory["parent"]
            begin = Theta() if parent is None else weights[parent]
            rates = (1.0, 0.0) if asked.params["which"] == "x" else (0.0, 1.0)
            weights.append(begin.trained(*rates))
            past.append(PastTrial(asked.params, Outcome.ENDED, weights[-1].quality, memory=asked.memory))
    specialist = 1.2 - 0.9**2  # at best: the other weight stays as it was
    assert max(theta.quality for theta in weights) > 1.19 > specialist


@pytest.mark.parametrize("at_once", [1, 3, MEMBERS])
def test_equal_seeds_and_equal_orders_of_results_give_equal_turns(at_once: int) -> None:
    search = rates(trials=60)
    runs = [carry_out(search, at_once, Random(3))[0] for _ in range(2)]
    assert runs[0] == runs[1]
    assert carry_out(rates(trials=60, sampler={"seed": 6}), at_once, Random(3))[0] != runs[0]
    if at_once > 1:
        assert carry_out(search, at_once, Random(4))[0] != runs[0], "the order in which results come counts"


def test_a_decision_that_is_made_again_is_the_same_one() -> None:
    """A worker that is killed before it stores the generations leaves the same history to the next worker."""
    past, _ = carry_out(rates(trials=30), 3, Random(1))
    for length in range(len(past)):
        history = past[:length]
        one = ask(rates(), history, 3)
        assert one == ask(rates(), history, 3)
        assert one[:1] == ask(rates(), history, 1)


def history(*values: float | None, outcome: Outcome = Outcome.ENDED) -> list[PastTrial]:
    """Return the first generations of members with these values."""
    return [
        PastTrial({"h0": 0.5, "h1": member / 10}, outcome, value, memory=generation(member))
        for member, value in enumerate(values)
    ]


def generation(member: int, number: int = 0, parent: int | None = None, *, copied: bool = False) -> dict[str, Any]:
    return {"member": member, "generation": number, "parent": parent, "copied": copied}


def asked_of(past: Sequence[PastTrial], member: int, **change: Any) -> Any:
    """Return the next generation of a member that is the only one without a generation."""
    rest = {one.memory["member"] for one in past} | set(range(MEMBERS))
    busy = [PastTrial({}, memory=generation(other, 9)) for other in sorted(rest - {member})]
    return ask(spec_of(**change), [*past, *busy], 6)


def test_members_begin_without_weights_and_each_has_one_turn_at_a_time() -> None:
    first = ask(spec_of(), [], 10)
    assert [generation_of(one.memory) for one in first] == [(member, 0, None, False) for member in range(MEMBERS)]
    assert len({tuple(one.params.items()) for one in first}) == MEMBERS
    assert ask(spec_of(), [PastTrial(one.params, memory=one.memory) for one in first], 10) == []


def test_members_with_the_fewest_turns_come_first() -> None:
    past = [*history(0.1, 0.2, 0.3), PastTrial({"h0": 0.1, "h1": 0.1}, Outcome.ENDED, 0.4, memory=generation(0, 1, 0))]
    assert [one.memory["member"] for one in ask(spec_of(), past, 6)] == [3, 4, 5, 1, 2, 0]


VALUES = (0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


@pytest.mark.parametrize(
    ("share", "copies", "donors"), [(0.2, {5}, {0}), (0.34, {4, 5}, {0, 1}), (0.5, {3, 4, 5}, {0, 1, 2})]
)
def test_the_worst_share_copies_from_the_best_share(share: float, copies: set[int], donors: set[int]) -> None:
    for seed in range(10):
        for asked in ask(spec_of(sampler={"share": share, "seed": seed}), history(*VALUES), 6):
            found = generation_of(asked.memory)
            assert found.copied == (found.member in copies)
            assert found.parent in (donors if found.copied else {found.member})
            if not found.copied:
                assert asked.params == {"h0": 0.5, "h1": found.member / 10}


def test_with_a_metric_to_minimize_the_smallest_values_are_the_best() -> None:
    asked = ask(spec_of(goal="minimize"), history(*VALUES), 6)
    assert [generation_of(one.memory).copied for one in asked] == [True, False, False, False, False, False]
    assert asked[0].memory["parent"] == 5


def test_one_result_alone_is_compared_with_nothing() -> None:
    (asked,) = asked_of(history(0.1)[:1], 0)
    assert generation_of(asked.memory) == (0, 1, 0, False)


@pytest.mark.parametrize(("value", "outcome"), [(None, Outcome.ENDED), (0.9, Outcome.STOPPED), (None, Outcome.UNKNOWN)])
def test_a_member_whose_turn_failed_or_was_stopped_copies_and_nobody_copies_from_it(
    value: float | None, outcome: Outcome
) -> None:
    past = [*history(*VALUES[:5]), PastTrial({"h0": 0.5, "h1": 0.5}, outcome, value, memory=generation(5))]
    generations = [generation_of(one.memory) for one in ask(spec_of(), past, 6)]
    assert [one.member for one in generations if one.copied] == [5]
    assert generations[5].parent == 0


def test_if_all_failed_they_begin_anew_with_new_values() -> None:
    past = history(*[None] * MEMBERS)
    again = ask(spec_of(), past, 6)
    assert {generation_of(one.memory).parent for one in again} == {None}
    assert not {one.params["h0"] for one in again} & {0.5}


def test_explored_numbers_are_multiplied_or_drawn_anew() -> None:
    past, factors = history(*VALUES), set[float]()
    drawn = 0
    for seed in range(200):
        asked = ask(spec_of(sampler={"seed": seed}), past, 6)[5]
        factor = round(asked.params["h0"] / 0.5, 9)
        factors |= {factor} & {0.8, 1.2}
        drawn += factor not in (0.8, 1.2)
    assert factors == {0.8, 1.2}
    assert 30 < drawn < 70, "a quarter"
    kept = ask(spec_of(sampler={"resample": 0.0}), past, 6)[5]
    assert round(kept.params["h0"] / 0.5, 9) in (0.8, 1.2)


LIMITS: list[tuple[Any, Any, float, Any]] = [
    (Uniform(low=0.0, high=1.0), 0.9, 1.2, 1.0),
    (Uniform(low=0.5, high=1.0), 0.6, 0.8, 0.5),
    (Uniform(low=0.0, high=1.0, step=0.25), 0.5, 1.2, 0.75),
    (Uniform(low=0.0, high=1.0, step=0.25), 0.5, 0.8, 0.25),
    (Uniform(low=0.0, high=1.0, step=0.25), 1.0, 1.2, 1.0),
    (LogUniform(low=0.01, high=1.0), 0.1, 0.8, 0.08),
    (LogUniform(low=0.01, high=1.0), 0.0101, 0.8, 0.01),
    (Integer(low=1, high=8), 3, 1.2, 4),
    (Integer(low=1, high=8), 1, 0.8, 1),
    (Integer(low=0, high=100, step=10), 50, 1.2, 60),
    (LogInteger(low=32, high=1024), 100, 0.8, 80),
    (Choice(values=["a", "b"]), "a", 1.2, "a"),
    (Normal(mean=0.9, deviation=0.1), 1.0, 1.2, 1.2),
    (Normal(mean=0.9, deviation=0.1, high=1.1), 1.0, 1.2, 1.1),
]


@pytest.mark.parametrize(("parameter", "value", "factor", "wanted"), LIMITS, ids=str)
def test_a_perturbed_value_is_within_its_bounds(parameter: Any, value: Any, factor: float, wanted: Any) -> None:
    assert perturbed(parameter, value, factor) == pytest.approx(wanted)


def test_conditions_hold_after_a_copy() -> None:
    kinds = {"kind": "choice", "values": ["sgd", "lars"]}
    trust = {**UNIT, "low": 0.1, "only_if": {"optimizer.kind": ["lars"]}}
    search = spec_of(space={"optimizer.kind": kinds, "optimizer.trust": trust}, sampler={"resample": 0.5})
    past = [
        PastTrial({"optimizer.kind": "sgd"}, Outcome.ENDED, value, memory=generation(m))
        for m, value in enumerate(VALUES)
    ]
    seen = set[str]()
    for seed in range(30):
        document = search.model_dump()
        document["sampler"]["seed"] = seed
        params = ask(SearchSpec.model_validate(document), past, 6)[5].params
        seen.add(params["optimizer.kind"])
        assert ("optimizer.trust" in params) == (params["optimizer.kind"] == "lars")
    assert seen == {"sgd", "lars"}
