"""OutputPump: take the output of ranks from pipes of their own, and carry it to the log and to the files of lines.

Whatever carries the output on (srun, a launcher, one file for several ranks) may break lines and mix them. The parent
of each rank therefore reads a pipe for its output and one for its errors, and knows what each rank has said last. It
appends whole lines to the files of lines (agent/folder/output_files.py) if a source of metrics reads the output, and
passes on to its own output what people see (agent/ranks/shown_output.py). Nothing is searched here: a slow regular
expression delays the metrics.
"""

from __future__ import annotations

import os
import select
import selectors
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from agent.folder.output_files import STREAMS, OutputFile, write_end
from agent.folder.run_folder import RunFolder
from agent.ranks.line_writer import LineWriter
from agent.ranks.shown_output import ShownOutput

CHUNK_BYTES = 1 << 16  # the size of a pipe
BATCH_S = 0.005  # between two rounds that bring little: many small writes of a program are one of the pump
MUCH_BYTES = CHUNK_BYTES // 4
POLL_S = 0.5
RETRY_S, RETRY_EVERY_S = 60.0, 1.0  # for lines that a full disk rejects
HELD_S = 2.0  # for a pipe that a process holds which the agent cannot end
LAST_LINES_S = 1.0  # for the last lines of a rank that failed, before its end is recorded
TAIL_BYTES = 1 << 18  # of each stream, in which the error that ended a rank is found
ATOMIC_BYTES = select.PIPE_BUF  # a longer write to a pipe that several processes share may be mixed with others'
FINISH_S, LEAST_S, REPORT_S = 60.0, 1.0, 2.0  # for what is left at the end; if the attempt must end; for its report


class _Stream:
    """One stream of a rank: its pipe, its file of lines, and where its bytes go."""

    def __init__(self, rank: int, kind: str, pipe: int, lines: LineWriter | None, label: bytes) -> None:
        self.rank, self.kind, self.pipe, self.lines = rank, kind, pipe, lines
        self.shown = ShownOutput(label)
        self.tail = bytearray()  # of what was shown
        self.target = 1 + STREAMS.index(kind)
        self.is_open = True
        self.has_given_up = False  # what came last could not be written


class OutputPump:
    """Carries the output of the ranks that one process starts, in a thread."""

    def __init__(self, folder: RunFolder, attempt: int, *, keeps_lines: bool = True, labels: int = 0) -> None:
        """`keeps_lines`: a source of metrics reads the lines; `labels`: the world whose ranks label their lines."""
        self._folder, self._attempt = folder, attempt
        self._keeps_lines, self._labels = keeps_lines, labels
        self._streams: list[_Stream] = []
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._change = threading.Condition()
        self._held_until = float("inf")
        self._failing_since: float | None = None
        self._has_complained = False

    def connect(self, rank: int) -> tuple[int, int]:
        """Return new ends for the output and the errors of a rank; the caller closes them once the rank has them."""
        ends = []
        for kind in STREAMS:
            pipe, end = os.pipe()
            os.set_blocking(pipe, False)
            path = self._folder.attempts / OutputFile(self._attempt, rank, kind).name
            lines = LineWriter(str(path)) if self._keeps_lines else None
            stream = _Stream(rank, kind, pipe, lines, _label(rank, self._labels))
            self._streams.append(stream)
            self._selector.register(pipe, selectors.EVENT_READ, stream)
            ends.append(end)
        return ends[0], ends[1]

    def start(self) -> None:
        """Begin to read, after the ranks have been started: a fork while another thread works can lock up."""
        self._thread.start()

    def await_end_of(self, rank: int, limit_s: float) -> None:
        """Wait until all that a rank has written is passed on, after the rank has ended."""
        mine = [stream for stream in self._streams if stream.rank == rank]
        with self._change:
            self._change.wait_for(lambda: not any(stream.is_open for stream in mine), limit_s)

    def last_words(self, rank: int) -> Iterator[str]:
        """Yield what the rank has said last: to its errors, and to its output."""
        for stream in reversed([stream for stream in self._streams if stream.rank == rank]):
            yield stream.tail[-TAIL_BYTES:].decode("utf-8", "replace")

    def finish(self, deadline: float | None) -> None:
        """Read to the end and record it, after the ranks and what they left behind have ended.

        `deadline`: the moment by the monotonic clock at which the attempt must have ended.
        """
        now = time.monotonic()
        limit_s = FINISH_S if deadline is None else min(FINISH_S, max(LEAST_S, deadline - REPORT_S - now))
        self._held_until = now + min(HELD_S, limit_s / 2)
        self._thread.join(limit_s)
        kept = [(stream, stream.lines) for stream in self._streams if stream.lines]
        if kept and not self._thread.is_alive():
            ends = {(stream.rank, stream.kind): lines.end_of_lines for stream, lines in kept}
            write_end(self._folder, self._attempt, ends, limit_s=limit_s)

    def _run(self) -> None:
        while self._selector.get_map():
            brought = [self._carry(key.data) for key, _ in self._selector.select(POLL_S)]
            now = time.monotonic()
            for stream in self._streams:
                if stream.is_open and (state := stream.shown.look(now)):
                    self._pass_on(stream, state)
            if now >= self._held_until:
                self._leave_held()
            elif brought and max(brought) < MUCH_BYTES:
                time.sleep(BATCH_S)

    def _carry(self, stream: _Stream) -> int:
        """Carry what a pipe has; return the number of bytes."""
        try:
            data = os.read(stream.pipe, CHUNK_BYTES)
        except BlockingIOError:
            return 0
        if not data:
            self._end(stream)
            return 0
        self._write(stream, data)
        self._pass_on(stream, stream.shown.take(data, time.monotonic()))
        return len(data)

    def _leave_held(self) -> None:
        """Carry what the pipes have now, and end all streams."""
        for stream in self._streams:
            if stream.is_open:
                self._carry(stream)
            if stream.is_open:
                self._end(stream)

    def _end(self, stream: _Stream) -> None:
        """Write a rest without its end, and close the pipe."""
        self._write(stream, is_end=True)
        self._pass_on(stream, stream.shown.finish())
        self._selector.unregister(stream.pipe)
        os.close(stream.pipe)
        with self._change:
            stream.is_open = False
            self._change.notify_all()

    def _write(self, stream: _Stream, data: bytes = b"", *, is_end: bool = False) -> None:
        """Write lines to their file; while the disk is full for the first minute, the program waits."""
        lines = stream.lines
        if lines is None:
            return
        lines.take(data)
        while True:
            try:
                if lines.write(is_end=is_end):
                    self._failing_since, stream.has_given_up = None, False
                return
            except OSError as error:
                now = time.monotonic()
                if self._failing_since is None:
                    self._failing_since = now
                is_over = stream.has_given_up or now - self._failing_since >= RETRY_S
                if is_over or isinstance(error, FileNotFoundError):
                    lines.give_up()
                    self._complain(stream, error)
                    return
            time.sleep(RETRY_EVERY_S)

    def _complain(self, stream: _Stream, error: OSError) -> None:
        """Say once that lines are lost."""
        stream.has_given_up = True
        if not self._has_complained:
            self._has_complained = True
            what = f"lines of rank {stream.rank} are lost for the metrics of its output"
            print(f"bigbatch: {what}: {error}", file=sys.stderr, flush=True)

    def _pass_on(self, stream: _Stream, data: bytes) -> None:
        stream.tail += data
        if len(stream.tail) > 2 * TAIL_BYTES:
            del stream.tail[:-TAIL_BYTES]
        with suppress(OSError):  # a full disk, or a reader that has gone, does not end the program
            for part in _parts(data) if self._labels else [data]:
                while part:
                    part = part[os.write(stream.target, part) :]


def _label(rank: int, world: int) -> bytes:
    """Return the label of a rank's lines as `srun --label` writes it; empty in a world without labels."""
    return f"{rank:>{len(str(world - 1))}}: ".encode() if world else b""


def _parts(data: bytes) -> Iterator[bytes]:
    """Yield whole lines, as many at once as reach a shared pipe in one piece."""
    while len(data) > ATOMIC_BYTES:
        end = data.rfind(b"\n", 0, ATOMIC_BYTES) + 1 or data.find(b"\n") + 1 or len(data)
        yield data[:end]
        data = data[end:]
    yield data


def open_pump(folder: RunFolder, attempt: int, spec: Mapping[str, Any], *, labels: int) -> OutputPump:
    """Return the pump of the ranks; it keeps their lines if a source of the spec's metrics reads the output."""
    keeps_lines = "output" in [source.get("kind") for source in spec.get("metrics") or []]
    return OutputPump(folder, attempt, keeps_lines=keeps_lines, labels=labels)
