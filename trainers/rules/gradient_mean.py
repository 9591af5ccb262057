"""GradientMean: the mean of the gradients over the ranks, and of a few values of each rank, in flat vectors.

The extra elements carry the values, then for each parameter how many ranks have a gradient of it. A parameter of which
no rank has a gradient keeps none, so that an optimizer leaves it as it is, as on one rank; otherwise a rank without a
gradient counts as zeros. The extra elements follow the last bucket; if that has a 16-bit type, they are a vector of
their own.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import Parameter

from trainers.collectives.runners.allreduce import Allreduce
from trainers.collectives.runners.async_allreduce import AsyncAllreduce, wait_for_sum
from trainers.rules.flat_vector import PackedGradients
from trainers.rules.gradient_buckets import BeginSum, BucketReducer, divide_by_type, divide_into_buckets
from trainers.rules.rule import EXTRA_VALUES


class GradientMean:
    """Averages the gradients of those `params` that a step trains; `names` are theirs, for messages.

    `sums` are of the run's all-reduce. The buckets are divided anew when the net freezes or unfreezes layers. See Sync
    for `packed` and `overlap`.
    """

    def __init__(
        self,
        params: Sequence[Parameter],
        names: Sequence[str],
        *,
        sums: AsyncAllreduce,
        world: int,
        packed: bool,
        overlap: bool,
    ) -> None:
        self._params, self._names, self._world = params, names, world
        self._packed, self._overlap, self.begin_sum = packed, overlap, sums.start
        self._flags: list[bool] = []  # requires_grad of each parameter at the last pass
        self._trained: list[bool] = []  # of each parameter, whether it is in a bucket
        self._buckets: _Buckets | None = None

    def divide(self) -> None:
        """Divide the parameters that this step trains into buckets, unless the last step trained the same ones.

        Call this before the step's last backward pass. A parameter that was frozen after an earlier pass of the step
        still has its gradient of that pass. Raise ValueError if the ranks change to different parameters in one step.
        If one rank changes alone, the sizes of the sums differ, and the collective fails.
        """
        flags = [p.requires_grad for p in self._params]
        if flags == self._flags and all(flags):  # the usual step, in little time
            return
        self._flags = flags
        trained = [flag or p.grad is not None for flag, p in zip(flags, self._params, strict=True)]
        if trained != self._trained and any(trained):
            self._divide_anew(trained)
        elif self._buckets is not None:
            self._buckets.reducer.watch()

    @torch.no_grad()
    def _divide_anew(self, trained: list[bool]) -> None:
        self._check_ranks(trained)
        if self._buckets is not None:
            self._buckets.reducer.remove()
            self._buckets = None  # free its vectors before the next ones are made
        chosen = [p for p, is_trained in zip(self._params, trained, strict=True) if is_trained]
        self._buckets = _Buckets(self._parts(chosen), world=self._world, begin_sum=self.begin_sum)
        self._trained = trained

    def _check_ranks(self, trained: list[bool]) -> None:
        # float64, because no wire rounds it
        share_P = torch.tensor(trained, dtype=torch.float64).to(self._params[0].device) / self._world
        shares = wait_for_sum(self.begin_sum(share_P)).tolist()
        for name, share in zip(self._names, shares, strict=True):
            if 0.5 / self._world < share < 1 - 0.5 / self._world:
                raise ValueError(
                    f"{round(share * self._world)} of {self._world} ranks train the parameter {name} in this step, and "
                    "the others have frozen it: freeze and unfreeze the same layers at the same step on every rank"
                )

    def _parts(self, params: list[Parameter]) -> list[list[Parameter]]:
        if not self._packed:
            return [[p] for p in reversed(params)]
        return divide_into_buckets(params) if self._overlap else divide_by_type(params)

    def begin(self) -> None:
        """Let each bucket be summed as soon as backward has completed it: the next pass is the step's last."""
        self._divided.reducer.begin()

    def fill(self, values: Tensor) -> None:
        """Fill the buckets that are not under way, and the extra elements."""
        self._divided.fill(values)

    def sum(self, allreduce: Allreduce) -> None:
        """Wait for all sums that are under way, and sum the rest."""
        self._divided.reducer.wait()
        for message_N in self._divided.messages:
            allreduce(message_N)

    def read(self, count: int) -> Tensor:
        """Return the means of the `count` values; remove the gradients that no rank has."""
        return self._divided.read(count)

    @property
    def _divided(self) -> "_Buckets":
        if self._buckets is None:
            self.divide()
        assert self._buckets is not None, "no parameter is trained"
        return self._buckets


class _Buckets:
    """The buckets of the parameters that a step trains; `messages` are summed after the backward pass."""

    def __init__(self, parts: list[list[Parameter]], *, world: int, begin_sum: BeginSum) -> None:
        *others, last = parts
        self._world = world
        extra, dtype = EXTRA_VALUES + sum(map(len, parts)), torch.promote_types(last[0].dtype, torch.float32)
        fits = dtype == last[0].dtype
        self._last = PackedGradients(last, extra=extra if fits else 0)
        self._extra_N = self._last.flat_N[-extra:] if fits else last[0].new_zeros(extra, dtype=dtype)
        self.messages = [self._last.flat_N] if fits else [self._last.flat_N, self._extra_N]
        self._all = [*map(PackedGradients, others), self._last]
        self.reducer = BucketReducer(self._all[:-1], factor=1 / world, begin_sum=begin_sum)
        self._shares_N = self._extra_N.clone()  # the extra elements of a rank that has all gradients
        self._shares_N[EXTRA_VALUES:] = 1 / world
        self._missing: list[tuple[Parameter, int]] = []  # those without a gradient on this rank, with their elements

    def fill(self, values: Tensor) -> None:
        self.reducer.begin_rest()
        self._last.gather(1 / self._world)
        self._missing = list(self._find_missing())
        self._extra_N.copy_(self._shares_N)
        # divide before the sum, because a sum of n ranks may exceed the range of a 16-bit wire
        self._extra_N[: values.numel()] = values.flatten() / self._world
        for _, element in self._missing:
            self._extra_N[element].zero_()

    def _find_missing(self) -> Iterator[tuple[Parameter, int]]:
        first = EXTRA_VALUES
        for bucket in self._all:
            for number in bucket.missing:
                yield bucket.params[number], first + number
            first += len(bucket.params)

    def read(self, count: int) -> Tensor:
        if self._missing:  # only then does the host read, which waits for a GPU
            present = (self._extra_N > 0).tolist()
            for p, element in self._missing:
                if not present[element]:
                    p.grad = None
        return self._extra_N[:count].clone()
