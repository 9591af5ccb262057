"""Values of numpy and torch in a document as JSON has them."""

import json
from typing import Any

from bigbatch.errors import BigbatchError
from bigbatch.running.measurement import number_text


class NoPlainValueError(BigbatchError):
    """A value of a document is neither a number, nor a text, a list or an object."""


def plain_value(value: Any) -> Any:
    """Return a scalar or an array as plain values, a float32 with its own digits; the service refuses NaN by field."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, float):
        return json.loads(number_text(value) or "null")
    if plain is value:
        message = f"a document has numbers, texts, lists and objects, and no {type(value).__name__}: {value!r:.200}"
        raise NoPlainValueError(message)
    return list(value) if isinstance(plain, list) else plain  # each of them has its own digits
