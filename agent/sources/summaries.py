"""The scalars in a record of TensorBoard: simple values, and tensors of one element."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from agent.sources.left_out import LeftOut
from agent.sources.point import NAME_RULE, NoStep, Point, clamp_moment, is_name, step_of
from agent.sources.protobuf import (
    DamagedMessage,
    Field,
    double_of,
    float_of,
    read_fields,
    shortest_float,
    signed,
    varints_of,
)

# Event: 1 wall_time, 2 step, 5 summary. Summary: 1 value. Value: 1 tag, 2 simple_value, 8 tensor.
WALL_TIME, STEP, SUMMARY = 1, 2, 5
VALUE, TAG, SIMPLE_VALUE, TENSOR = 1, 1, 2, 8
# TensorProto: 1 dtype, 4 tensor_content, and lists of numbers by type
DTYPE, CONTENT, FLOATS, DOUBLES, INTS, INT64S = 1, 4, 5, 6, 7, 10
NARROW = {1: "<f", 14: "<f", 19: "<e"}  # float, bfloat16, half
FORMATS = {1: "<f", 2: "<d", 3: "<i", 9: "<q", 19: "<e"}  # float, double, int32, int64, half
BFLOAT16 = 14


def scalars_of(record: bytes, left_out: LeftOut | None = None) -> Point | None:
    """Return the scalars of one record; None if it has none, or is damaged. Count in `left_out` what is no metric."""
    step, at = 0, 0.0
    values: dict[str, float] = {}
    left_out = LeftOut() if left_out is None else left_out
    try:
        for field in read_fields(record):
            if field.number == WALL_TIME:
                at = double_of(field.data)
            elif field.number == STEP:
                step = signed(field.integer)
            elif field.number == SUMMARY:
                values.update(_values(field.data, left_out))
    except DamagedMessage as error:
        left_out.add("", f"a record is damaged: {error}")
        return None
    try:
        return Point(step_of(step), values, clamp_moment(at)) if values else None
    except NoStep as error:
        left_out.add(next(iter(values)), str(error), len(values))
        return None


def _values(summary: bytes, left_out: LeftOut) -> Iterator[tuple[str, float]]:
    for field in read_fields(summary):
        if field.number == VALUE:
            tag, value = _value(field.data)
            if value is not None and is_name(tag):
                yield tag, value
            elif value is not None:
                left_out.add(tag, NAME_RULE)


def _value(message: bytes) -> tuple[str, float | None]:
    tag, value = "", None
    for field in read_fields(message):
        if field.number == TAG:
            tag = field.data.decode("utf-8", "replace")
        elif field.number == SIMPLE_VALUE:
            value = float_of(field.data)
        elif field.number == TENSOR:
            value = _element(list(read_fields(field.data)))
    return tag, value


def _element(fields: list[Field]) -> float | None:
    """Return the number of a tensor that has one element, None for another tensor."""
    dtype = next((field.integer for field in fields if field.number == DTYPE), 0)
    numbers: list[float] = []
    for field in fields:
        if field.number == CONTENT:
            numbers += _content(dtype, field.data)
        elif field.number in (FLOATS, DOUBLES):
            pattern = "f" if field.number == FLOATS else "d"
            if len(field.data) % struct.calcsize(pattern):
                raise DamagedMessage("a list of numbers has an incomplete one")
            numbers += struct.unpack(f"<{len(field.data) // struct.calcsize(pattern)}{pattern}", field.data)
        elif field.number in (INTS, INT64S):
            numbers += varints_of(field.data) if field.data else [signed(field.integer)]
    if len(numbers) != 1:
        return None
    packed = NARROW.get(dtype)
    return shortest_float(float(numbers[0]), packed) if packed else float(numbers[0])


def _content(dtype: int, data: bytes) -> tuple[float, ...]:
    if dtype == BFLOAT16 and len(data) == 2:  # the upper half of a float
        return struct.unpack("<f", b"\0\0" + data)
    pattern = FORMATS.get(dtype)
    return struct.unpack(pattern, data) if pattern and struct.calcsize(pattern) == len(data) else ()
