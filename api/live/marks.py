"""Marks: they order requests and the changes that this process has read from the database."""

from secrets import token_hex

HEADER = b"bigbatch-after"  # of a request that reacts to a change: the mark of the newest event that the client got


class Marks:
    """The marks of one process; another process's marks say nothing here."""

    def __init__(self) -> None:
        self._process = token_hex(4)
        self.newest = 0

    def make(self) -> str:
        """Return a new mark. What a request reads from now on contains every change that was read before."""
        self.newest += 1
        return f"{self._process}.{self.newest}"

    def number(self, mark: bytes) -> int | None:
        """Return the number of a mark of this process, or None."""
        process, _, digits = mark.decode("latin-1").partition(".")
        is_mine = process == self._process and digits.isascii() and digits.isdigit() and len(digits) < 20
        return int(digits) if is_mine else None
