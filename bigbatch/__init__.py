"""The `bigbatch` command and the typed Python client."""

from bigbatch.client import Client
from bigbatch.errors import ApiError, BigbatchError, DocumentRefused, Unreachable

__all__ = ["ApiError", "BigbatchError", "Client", "DocumentRefused", "Unreachable"]
