"""Find the tensors that are not finite: one pass over all of them, and one read on the host if all are finite."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor


def not_finite(tensors: Mapping[str, Tensor], *, allows_infinity: bool = False) -> list[str]:
    """Return the names of the tensors with a value that is NaN or, unless `allows_infinity`, infinite.

    A tensor of integers has none, and a tensor that is not dense is left out, except for the values of a sparse one.
    """
    checked = {name: values for name, x in tensors.items() if (values := _real_values(x)) is not None}
    if all(_are_finite(device, checked) for device in {values.device for values in checked.values()}):
        return []  # else the sum of large values may have exceeded the range
    is_bad: Callable[[Tensor], Tensor] = Tensor.isnan if allows_infinity else _is_not_finite
    return [name for name, values in checked.items() if bool(is_bad(values).any())]


def first_not_finite(x: Tensor) -> int | None:
    """Return the index of the first sample of a batch that has a value that is not finite, or None."""
    is_bad_B = _is_not_finite(x).flatten(1).any(dim=1) if x.dim() > 1 else _is_not_finite(x)
    return int(is_bad_B.int().argmax()) if bool(is_bad_B.any()) else None


def listed(names: list[str], most: int = 3) -> str:
    """Return up to `most` names as a text, and how many more there are."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    *first, last = [*names[:most], *more]
    return f"{', '.join(first)} and {last}" if first else last


def _are_finite(device: torch.device, tensors: Mapping[str, Tensor]) -> bool:
    """Return whether the sum of all tensors on a device is finite, so that each of their values is."""
    # a sum with a value that is not finite is not finite; it takes a fifteenth of the time of isfinite on a CPU
    sums = [values.sum().double() for values in tensors.values() if values.device == device]
    return bool(torch.stack(sums).sum().isfinite())


def _real_values(x: Tensor) -> Tensor | None:
    """Return the floating-point values of a tensor, without a copy where torch can compute with its type."""
    x = x.detach()
    if x.is_sparse:
        x = x.coalesce().values()
    if x.layout is not torch.strided or x.is_meta or x.is_nested or x.is_quantized:
        return None
    if x.is_complex():
        return torch.view_as_real(x.resolve_conj())
    if not x.is_floating_point():
        return None
    return x.float() if x.element_size() == 1 else x  # torch has no sum of 8-bit numbers


def _is_not_finite(x: Tensor) -> Tensor:
    return ~x.isfinite()
