"""Answers that several pages ask for at the same moment: they are computed once."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future

MOST_ANSWERS = 64
MOST_BYTES = 500_000  # of one that is stored; a first look at a large experiment is rarely shared


class SharedAnswers:
    """The newest answers by their keys. A key must name everything that the answer depends on."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, Future[str]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], str]) -> str:
        """Return the answer of this key; of several threads that ask, one makes it and the others wait."""
        with self._lock:
            found = self._answers.get(key)
            if found is None:
                mine = self._answers[key] = Future()
                if len(self._answers) > MOST_ANSWERS:
                    self._answers.popitem(last=False)
        if found is not None:
            return found.result()
        try:
            answer = make()
        except BaseException as error:
            mine.set_exception(error)
            self._remove(key)
            raise
        mine.set_result(answer)
        if len(answer) > MOST_BYTES:
            self._remove(key)
        return answer

    def _remove(self, key: Hashable) -> None:
        with self._lock:
            self._answers.pop(key, None)
