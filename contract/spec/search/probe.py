"""Points by which a space is tried before a search begins: the middle of each parameter, and its ends."""

import json
from collections.abc import Iterator
from math import exp, log
from typing import Any

from contract.spec.grid.grid import Values
from contract.spec.search.parameters import Choice, Integer, LogInteger, LogUniform, Normal, Parameter, Uniform
from contract.spec.search.samplers import MAX_TRIALS, GridSampler, ListSampler
from contract.spec.search.search import SearchSpec
from contract.spec.search.space import Space, draw, grid_points


def probe_points(search: SearchSpec) -> list[Values]:
    """Return points that must be valid runs: all of a grid or a list; else the middle, and the ends one by one."""
    match search.sampler:
        case GridSampler():
            return grid_points(search.space, MAX_TRIALS)
        case ListSampler(points=points):
            return points
    found = [draw(search.space, lambda _, parameter: middle(parameter))]
    for path, parameter in search.space.items():
        found += [_with_end(search.space, path, end) for end in ends(parameter)]
    return list({json.dumps(values, sort_keys=True, default=str): values for values in found}.values())


def middle(parameter: Parameter) -> Any:
    """Return a value in the middle of a parameter's range; of choices the first."""
    match parameter:
        case Uniform(low=low, high=high, step=step):
            return (low + high) / 2 if step is None else low + step * int((high - low) / step / 2)
        case LogUniform(low=low, high=high):
            return exp((log(low) + log(high)) / 2)
        case Integer(low=low, high=high, step=step):
            return low + step * ((high - low) // step // 2)
        case LogInteger(low=low, high=high):
            return round(exp((log(low) + log(high)) / 2))
        case Choice(values=values):
            return values[0]
        case Normal():
            return min(max(parameter.mean, _or(parameter.low, parameter.mean)), _or(parameter.high, parameter.mean))


def ends(parameter: Parameter) -> Iterator[Any]:
    """Yield the least and the greatest value of a parameter; of choices each."""
    match parameter:
        case Choice(values=values):
            yield from values
        case Normal(mean=mean, deviation=deviation):
            yield _or(parameter.low, mean - 3 * deviation)
            yield _or(parameter.high, mean + 3 * deviation)
        case Integer(low=low, high=high, step=step):
            yield low
            yield low + step * ((high - low) // step)
        case _:
            yield parameter.low
            yield parameter.high


def _with_end(space: Space, path: str, end: Any) -> Values:
    """Return the point that has one value at an end, with the conditions of this parameter fulfilled."""
    fixed = {path: end}
    waiting = [path]
    while waiting:
        for name, listed in space[waiting.pop()].only_if.items():
            if name not in fixed and name in space:
                fixed[name] = listed[0]
                waiting.append(name)
    return draw(space, lambda name, parameter: fixed[name] if name in fixed else middle(parameter))


def _or(bound: float | None, other: float) -> float:
    return other if bound is None else bound
