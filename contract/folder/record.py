"""The base class of the records that a run folder stores, and the reading of one record."""

import re
from typing import TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from contract.described_model import DescribedModel

T = TypeVar("T")
# pairs first, so that the second alternative finds halves of pairs alone
_SURROGATES = re.compile(rb"(\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


class FolderRecord(DescribedModel):
    """Ignore unknown fields, so that an older scheduler can read the records of a newer trainer."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def read_record(reader: TypeAdapter[T], data: bytes) -> T:
    """Return the record in a line or a file; raise ValidationError.

    Invalid UTF-8 and halves of surrogate pairs become U+FFFD: JSON of other writers than pydantic may contain them.
    """
    try:
        return reader.validate_json(data)
    except ValidationError:
        repaired = _SURROGATES.sub(lambda found: found[1] or rb"\ufffd", data).decode("utf-8", "replace").encode()
        if repaired == data:
            raise
    return reader.validate_json(repaired)
