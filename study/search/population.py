"""Population-based training (Jaderberg et al., 2017): which member trains next, from whose weights, with which values.

A member is a set of weights theta with values h. After each generation `exploit` by truncation selection: a member
among the worst n of N by the newest result of each takes (theta, h) of one of the best n, drawn uniformly. Then
`explore` by perturbation: each number of h is multiplied by 0.8 or 1.2, or drawn anew. Every other member retains both.

Everything follows from the seed and the history: the draws of a generation depend on its member and its number alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple

from contract.spec.grid.grid import Values
from contract.spec.search.parameters import Choice, Integer, LogInteger, Normal, Parameter, Uniform
from contract.spec.search.samplers import PopulationSampler
from contract.spec.search.search import SearchSpec
from contract.spec.search.space import draw
from study.search.trials import Asked, Outcome, PastTrial

Fresh = Callable[[int], Callable[[str, Parameter], Any]]  # a seed -> a function that draws a parameter fresh_value


class Generation(NamedTuple):
    """A trial as its member's generation: what the sampler notes on it."""

    member: int
    generation: int  # number of the member's generation, from 0
    parent: int | None  # the trial whose weights it begins with; None: it begins as the base run does
    copied: bool  # whether they are another member's


@dataclass(frozen=True)
class _Result:
    """The newest result of a member."""

    member: int
    trial: int
    params: Values
    value: float | None  # None: the generation failed, diverged or was stopped: it has no weights to hand on


def generation_of(memory: Mapping[str, Any]) -> Generation:
    """Return the generation that the sampler noted on a trial."""
    return Generation(memory["member"], memory["generation"], memory["parent"], memory["copied"])


def next_generations(
    search: SearchSpec, sampler: PopulationSampler, past: Sequence[PastTrial], count: int, fresh: Fresh
) -> list[Asked]:
    """Return the next trials, at most one of each member that has none now; the fewest generations come first."""
    generations = [generation_of(trial.memory) for trial in past]
    taken = [sum(generation.member == member for generation in generations) for member in range(sampler.members)]
    busy = {
        generation.member for generation, trial in zip(generations, past, strict=True) if trial.outcome is Outcome.OPEN
    }
    idle = sorted(set(range(sampler.members)) - busy, key=lambda member: (taken[member], member))
    results = _newest(generations, past)
    asked = []
    for number, member in enumerate(idle[:count], len(past)):
        seed = _seed(sampler.seed, member, taken[member])
        params, parent, copied = _begin(search, sampler, results, member, seed, fresh)
        memory = Generation(member, taken[member], parent, copied)._asdict()
        asked.append(Asked(number, params, seed, memory))
    return asked


def _newest(generations: Sequence[Generation], past: Sequence[PastTrial]) -> dict[int, _Result]:
    """Return the newest result of each member that has one."""
    found: dict[int, _Result] = {}
    for number, (generation, trial) in enumerate(zip(generations, past, strict=True)):
        if trial.outcome is not Outcome.OPEN:
            value = trial.value if trial.outcome is Outcome.ENDED else None
            found[generation.member] = _Result(generation.member, number, trial.params, value)
    return found


def _begin(
    search: SearchSpec, sampler: PopulationSampler, results: Mapping[int, _Result], member: int, seed: int, fresh: Fresh
) -> tuple[Values, int | None, bool]:
    """Return the values of a member's next trial, the trial whose weights it takes, and whether that is another's."""
    own, random, fresh_value = results.get(member), Random(seed), fresh(seed)
    donors = _donors(search, sampler, results, own)
    if own is not None and not donors and own.value is not None:
        return own.params, own.trial, False
    if not donors:  # its first generation, or its last one failed and no member has weights
        return draw(search.space, fresh_value), None, False
    donor = random.choice(donors)

    def explore(path: str, parameter: Parameter) -> Any:
        if random.random() < sampler.resample or path not in donor.params:
            return fresh_value(path, parameter)
        return perturbed(parameter, donor.params[path], random.choice(sampler.factors))

    return draw(search.space, explore), donor.trial, True


def _donors(
    search: SearchSpec, sampler: PopulationSampler, results: Mapping[int, _Result], own: _Result | None
) -> list[_Result]:
    """Return the members from one of which a member copies; none if it trains on with its own weights."""
    if own is None:
        return []
    sign = -1.0 if search.maximizes else 1.0
    sound = [one for one in results.values() if one.value is not None]
    best = sorted(sound, key=lambda one: (sign * _value(one), one.member))
    count = max(1, int(sampler.share * len(results)))
    donors = best[:count]
    if own.value is None:
        return donors
    is_worst = best.index(own) >= len(results) - count  # members without a value are worse than all others
    return donors if is_worst and own not in donors else []


def _value(result: _Result) -> float:
    assert result.value is not None
    return result.value


def perturbed(parameter: Parameter, value: Any, factor: float) -> Any:
    """Return a value multiplied by a factor, within the bounds; a whole number moves by one at least."""
    match parameter:
        case Choice():
            return value
        case Integer(low=low, high=high, step=step):
            return _moved(value, factor, low, low + step * ((high - low) // step), step)
        case LogInteger(low=low, high=high):
            return _moved(value, factor, low, high, 1)
        case Normal(low=least, high=most):
            return _between(value * factor, least, most)
        case Uniform(low=least, high=most, step=step) if step is not None:
            return float(f"{_moved(value, factor, least, least + step * int((most - least) / step + 1e-9), step):.12g}")
        case _:
            return _between(value * factor, parameter.low, parameter.high)


def _moved(value: Any, factor: float, low: Any, high: Any, step: Any) -> Any:
    """Return the nearest value with a whole number of steps, one step away at least unless a bound is met."""
    steps = round((value * factor - value) / step)
    if steps == 0 and factor != 1:
        steps = 1 if factor > 1 else -1
    return min(max(value + steps * step, low), high)


def _between(value: float, low: float | None, high: float | None) -> float:
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def _seed(seed: int, member: int, generation: int) -> int:
    return int.from_bytes(sha256(f"{seed}/member {member}/{generation}".encode()).digest()[:4]) >> 1
