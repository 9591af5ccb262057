"""The log of a process of the service: lines with their moments on standard error, repetitions said once."""

import copy
import logging
import sys
import threading
import time
from typing import TextIO

from contract.folder.bounds import printable
from contract.log_repeats import Repeats

LOOK_S = 1.0


class ServiceHandler(logging.StreamHandler[TextIO]):
    """Writes warnings and errors, and one line for many repetitions of each."""

    def __init__(self, stream: TextIO, repeats: Repeats) -> None:
        super().__init__(stream)
        self._repeats = repeats
        # moments in UTC, as everywhere; a text of others may have characters that a terminal would obey
        self.setFormatter(_Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, a line in its place, or nothing."""
        try:
            text = self._repeats.take(record) if record.levelno >= logging.WARNING else None
        except Exception:  # of its arguments, or of an error's text: the caller must not fail because of a line
            self.handleError(record)
            return
        if text is None:
            super().emit(record)
        elif text:
            super().emit(_with_text(record, text))

    def look(self) -> None:
        """Write which causes are over."""
        for text in self._repeats.look():
            with self.lock or threading.Lock():
                super().emit(logging.makeLogRecord({"name": "log", "levelname": "WARNING", "msg": text}))


class _Formatter(logging.Formatter):
    converter = staticmethod(time.gmtime)
    default_time_format, default_msec_format = "%Y-%m-%dT%H:%M:%S", "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def configure_log() -> None:
    """Let this process write the warnings and errors of all its loggers, and no repetitions."""
    handler = ServiceHandler(sys.stderr, Repeats())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    threading.Thread(target=_look, args=(handler,), name="log", daemon=True).start()


def _look(handler: ServiceHandler) -> None:
    while True:
        time.sleep(LOOK_S)
        handler.look()


def _with_text(record: logging.LogRecord, text: str) -> logging.LogRecord:
    short = copy.copy(record)
    short.msg, short.args = text, None
    short.exc_info = short.exc_text = short.stack_info = None
    return short
