"""Call a function as soon as the program has imported a module, without importing the module earlier."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


def after_import(name: str, then: Callable[[ModuleType], None]) -> None:
    """Call `then` with the module after its first import; errors of `then` do not reach the program."""
    sys.meta_path.insert(0, _Finder(name, then))


class _Finder:
    """Finds one module as Python would, and adds a call to the end of its loading."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's spec, None for every other module."""
        if name != self._name:
            return None
        with suppress(Exception):
            sys.meta_path.remove(self)
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                self._extend(spec.loader)
                return spec
        return None

    def _extend(self, loader: Any) -> None:
        execute, then = loader.exec_module, self._then

        def exec_module(module: ModuleType) -> None:
            execute(module)
            with suppress(Exception):
                then(module)

        loader.exec_module = exec_module
