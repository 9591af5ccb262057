"""ShownOutput: what people see of one stream of a rank, without the past states of progress bars, and with a label.

A carriage return begins a line anew, so of a bar that went through 10 %, 20 % and 100 % the last state remains. Without
a label all else passes at once. With the label of its rank, as `srun --label` writes it, a line waits for its end, so
that it stays whole.
"""

from __future__ import annotations

LONGEST = 1 << 16  # bytes of a line that waits; of a longer one a part is shown
PAUSE_S = 60.0  # between two states of a line that does not end


class ShownOutput:
    """Turns what a stream brings into what is shown of it."""

    def __init__(self, label: bytes = b"") -> None:
        self._label = label
        self._waiting = b""  # of the present line, since its last carriage return
        self._is_held = bool(label)  # the present line waits for its end
        self._has_part = False  # a part of the present line is shown, and has no end yet
        self._has_state = False  # a state of the present line was shown as a line
        self._since = float("inf")  # the time from which something waits

    def take(self, data: bytes, now: float) -> bytes:
        """Return what is to be shown once the stream has brought these bytes at this time."""
        *lines, rest = data.split(b"\n")
        shown = [self._end(line) for line in lines]
        self._add(rest)
        if not self._is_held:
            shown.append(self._part())
        elif len(self._waiting) >= LONGEST:
            shown.append(self._state())
        self._since = min(self._since, now) if self._waiting.strip(b"\r") else float("inf")
        return b"".join(shown) + self.look(now)

    def look(self, now: float) -> bytes:
        """Return the present state of a line that has waited for a minute."""
        if now < self._since + PAUSE_S:
            return b""
        self._since = float("inf")
        return self._state()

    def finish(self) -> bytes:
        """Return what is left at the end of the stream."""
        self._since = float("inf")
        return self._state()

    def _add(self, data: bytes) -> None:
        """Add a part of a line; a carriage return that ends it may belong to the end of the line."""
        line = self._waiting + data
        if b"\r" not in line:
            self._waiting = line
            return
        self._is_held = True
        text = line.rstrip(b"\r")
        self._waiting = text[text.rfind(b"\r") + 1 :] + line[len(text) : len(text) + 1]

    def _end(self, data: bytes) -> bytes:
        """Return what is shown of the present line at its end."""
        self._add(data)
        line, has_part, has_state = self._waiting.rstrip(b"\r"), self._has_part, self._has_state
        is_anew = has_part and self._is_held and bool(line)
        self._waiting, self._is_held = b"", bool(self._label)
        self._has_part = self._has_state = False
        self._since = float("inf")
        if has_state and not line:
            return b""
        return (b"\n" if is_anew else b"") + self._label + line + b"\n"

    def _part(self) -> bytes:
        """Return a part of a line that passes at once."""
        part, self._waiting = self._waiting, b""
        self._has_part = self._has_part or bool(part)
        return part

    def _state(self) -> bytes:
        """Return the present state of the line, as a line."""
        line = self._waiting.rstrip(b"\r")
        self._waiting = b""
        if not line:
            return b""
        begins = b"\n" if self._has_part else b""
        self._has_part, self._has_state = False, True
        return begins + self._label + line + b"\n"
