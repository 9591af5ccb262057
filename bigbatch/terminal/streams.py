"""The way out of the command: what is printed shows control characters as text, whoever wrote them.

`shown_streams` puts a stream that does so in the place of standard output and standard error, so that no `print` goes
around it. What a program reads goes to `data_stream`, which changes nothing unless it is a terminal.
"""

import io
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from types import TracebackType
from typing import IO, Any, TextIO, cast

from bigbatch.terminal.control_characters import show_control_characters


class ShownStream:
    """A stream of text on which control characters are text."""

    def __init__(self, stream: TextIO) -> None:
        self.unchanged = stream

    def write(self, text: str) -> int:
        """Write the text as it is shown; return its own length."""
        self.unchanged.write(show_control_characters(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write the lines as they are shown."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unchanged, name)


@contextmanager
def shown_streams() -> Iterator[None]:
    """Let standard output and standard error show control characters as text."""
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a log may contain characters that the terminal cannot show
    sys.stdout, sys.stderr = (cast(TextIO, ShownStream(unchanged(stream))) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def show_error(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
    """Print an error that ends the process with its traceback, in the place of sys.excepthook."""
    lines = traceback.format_exception(kind, error, at)
    ShownStream(unchanged(sys.stderr)).writelines(lines)


def unchanged(stream: TextIO) -> TextIO:
    """Return the stream below one that shows control characters, for colors of our own."""
    return stream.unchanged if isinstance(stream, ShownStream) else stream


def data_stream(*, raw: bool = False) -> TextIO:
    """Return standard output for what programs read: a terminal shows control characters as text unless `raw`."""
    return unchanged(sys.stdout) if raw or not sys.stdout.isatty() else sys.stdout


def write_data(write: Callable[[IO[bytes]], int]) -> None:
    """Let `write` write bytes to standard output; a terminal shows them as text."""
    if not sys.stdout.isatty():
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    file = io.BytesIO()
    write(file)
    sys.stdout.write(file.getvalue().decode("utf-8", "replace"))


def run_shown(command: Sequence[str], sent: bytes | None = None) -> int:
    """Run a program whose output and errors appear here, and return its exit code; `sent` is its input."""
    with subprocess.Popen(
        command,
        stdin=None if sent is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        errors = Thread(target=_pass_on, args=(process.stderr, sys.stderr))
        errors.start()
        if process.stdin is not None and sent is not None:
            process.stdin.write(sent)
            process.stdin.close()
        _pass_on(process.stdout, sys.stdout)
        errors.join()
    return process.returncode


def _pass_on(written: IO[bytes], out: TextIO) -> None:
    for line in io.TextIOWrapper(written, encoding="utf-8", errors="replace"):
        out.write(line)
        out.flush()
