"""What a hostile run leaves in its folder, by chance: every file of the contract by every kind of what it is not.

A run may write anything that its account may. `choose` is a generator: the same seed gives the same plants.
"""

import json
import os
import random
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.testing.faults.hostile import BOUND, FAILED, FELL, LOST, POINT, RESUMED

FILES = (
    *("spec.json", "events.jsonl", "times.csv", "collective.json", "binding.json", "chunks.json", "lost.jsonl"),
    *("outputs.json", "out.log", "points/rank-1.jsonl", "points/system-h.jsonl", "times/rank-1.csv"),
    *(f"attempts/1.{end}" for end in ("began", "json", "rendezvous", "beat", "again", "ranks", "pause", "end", "log")),
    *(f"attempts/1.{end}" for end in ("pause-request", "paused", "progress-0", "stacks-0.txt", "threads-0.txt")),
    *(f"attempts/1.{end}" for end in ("flight-0", "lines-0.out", "lines-0.err", "lines-0.end", "jobs", "stop")),
    *("attempts/1.rank-0.json", "attempts/work.copied", "attempts/bin/sbatch", "attempts/sources.json"),
)
FOLDERS = (
    *("attempts", "points", "times", "checkpoints", "submission", "bad-images", "volume", "work", "."),
    "checkpoints/step-0000000003-attempt-1",
)
SECRET = "SECRET"  # in the environment: path of a file whose content no answer may have
PAYLOAD = "PAYLOAD"  # in the environment: path of a file that exists only if something planted was executed
LARGE_BYTES, FLOOD_BYTES = 64 << 20, 8 << 20
DEEP, MANY = 1_500, 20_000  # folders in each other; files in one folder
WORDS = (
    "loss\u202egnp.exe",
    "=cmd|' /C calc'!A0",
    "\x1b]0;owned\x07",
    "<img src=x onerror=alert(1)>",
    "a\0b",
    "\ud800",
)


class Plant(NamedTuple):
    """One thing that a hostile run does to its folder."""

    name: str  # for a report: what, and where
    do: Callable[[Path], None]  # gets the run's folder


def choose(seed: int) -> list[Plant]:
    """Return one to four plants."""
    dice = random.Random(seed)
    return [_one(dice) for _ in range(dice.randint(1, 4))]


def carry_out(plants: list[Plant], folder: Path) -> None:
    """Carry them out; what the system refuses after an earlier plant is left out."""
    for plant in plants:
        with suppress(OSError):
            plant.do(folder)


def _one(dice: random.Random) -> Plant:
    kind = dice.random()
    if kind < 0.5:
        name, what = dice.choice(FILES), dice.choice(sorted(IN_PLACE))
        return Plant(f"{name}: {what}", _in_place_of(name, IN_PLACE[what], dice.randrange(1 << 30)))
    if kind < 0.65:
        name, what = dice.choice(FOLDERS), dice.choice(sorted(OF_FOLDERS))
        return Plant(f"{name}/: {what}", _of_folder(name, OF_FOLDERS[what]))
    if kind < 0.9:
        what = dice.choice(sorted(EVENTS))
        return Plant(f"a flood of {what}", lambda folder: _flood(folder / "events.jsonl", EVENTS[what]))
    name, what = dice.choice(FILES), dice.choice(sorted(CONTENTS))
    return Plant(f"{name}: {what}", _in_place_of(name, lambda path, _: path.write_bytes(CONTENTS[what]()), 0))


def _in_place_of(name: str, make: Callable[[Path, random.Random], object], seed: int) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(path)
        make(path, random.Random(seed))

    return do


def _of_folder(name: str, make: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda folder: make((folder / name).absolute())


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(f"{path.name}-moved"))
    else:
        path.unlink(missing_ok=True)


def _socket(path: Path, _: random.Random) -> None:
    parent = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as there:
        there.bind(f"/proc/self/fd/{parent}/{path.name}")  # the address of a socket has at most 107 bytes
    os.close(parent)


def _device(path: Path, _: random.Random) -> None:
    """Make the device of zeros, which root alone may; others make a link to it."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        path.symlink_to("/dev/zero")


def _sparse(path: Path, _: random.Random) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _large(path: Path, dice: random.Random) -> None:
    block = dice.randbytes(1 << 20)
    with path.open("wb") as file:
        file.writelines([block] * (LARGE_BYTES >> 20))


def _one_line(path: Path, _: random.Random) -> None:
    with path.open("wb") as file:
        file.writelines([b"x" * (1 << 20)] * (LARGE_BYTES >> 20))


def _endless(path: Path, _: random.Random) -> None:
    """Let a process append to the file for half a minute, and so outlive the run."""
    if os.fork() == 0:
        os.execvp("sh", ["sh", "-c", 'timeout 30 sh -c "while :; do echo x; done" >> "$0"', str(path)])


def _unreadable(path: Path, _: random.Random) -> None:
    path.write_text("{}")
    path.chmod(0)


def _pickle(path: Path, _: random.Random) -> None:
    """Write what executes a command when Python's pickle loads it."""
    mark = os.environ.get(PAYLOAD, "/dev/null").encode()
    path.write_bytes(b"cos\nsystem\n(S'touch " + mark + b"'\ntR.")
    path.chmod(0o755)


def _script(path: Path, _: random.Random) -> None:
    path.write_text(f"#!/bin/sh\ntouch {os.environ.get(PAYLOAD, '/dev/null')}\n")
    path.chmod(0o755)


def _link_to(target: str) -> Callable[[Path, random.Random], None]:
    return lambda path, _: path.symlink_to(os.environ.get(SECRET, "/etc/shadow") if target == SECRET else target)


IN_PLACE: Mapping[str, Callable[[Path, random.Random], object]] = {
    "a link to a secret": _link_to(SECRET),
    "a link to /etc/shadow": _link_to("/etc/shadow"),
    "a link to the environment": _link_to("/proc/self/environ"),
    "a link to /dev/zero": _link_to("/dev/zero"),
    "a link to itself": lambda path, _: path.symlink_to(path.name),
    "a link to nothing": _link_to("nowhere"),
    "a link to the root": _link_to("/"),
    "a FIFO": lambda path, _: os.mkfifo(path),
    "a socket": _socket,
    "a device": _device,
    "a folder": lambda path, _: path.mkdir(),
    "a sparse file of 1 TB": _sparse,
    "a large file": _large,
    "one long line": _one_line,
    "an endless file": _endless,
    "an unreadable file": _unreadable,
    "a pickle": _pickle,
    "a script": _script,
}


def _many(path: Path) -> None:
    path.mkdir(exist_ok=True)
    for number in range(MANY):
        (path / f"{number}.rank-{number}.json").touch()


def _deep(path: Path) -> None:
    """Make folders in each other that no path can name."""
    path.mkdir(exist_ok=True)
    at = os.open(path, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("deep", dir_fd=at)
        inner = os.open("deep", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


def _names(path: Path) -> None:
    path.mkdir(exist_ok=True)
    for name in (b"a\nb", b"\x1b[2J", "\u202egnp".encode(), b"\xff\xfe", b"-rf", b"x" * 255, b"=1+1"):
        (path / os.fsdecode(name)).write_text("x")


def _moved(path: Path) -> None:
    path.rename(path.with_name(f"{path.name}-elsewhere"))


def _linked(path: Path) -> None:
    _moved(path)
    path.symlink_to(path.with_name(f"{path.name}-elsewhere"))


def _fifo(path: Path) -> None:
    _moved(path)
    os.mkfifo(path)


OF_FOLDERS: Mapping[str, Callable[[Path], None]] = {
    "moved away": _moved,
    "a link": _linked,
    "a FIFO": _fifo,
    "without any right": lambda path: path.chmod(0),
    "without the right to write": lambda path: path.chmod(0o555),
    "very many files": _many,
    "very deep": _deep,
    "names for a terminal": _names,
}


def _wide() -> Iterator[dict[str, Any]]:
    number = 0
    while True:
        yield POINT | {"values": {f"{name:0200}": 1.0 for name in range(number, number + 500)}}
        number += 500


def _again(event: dict[str, Any]) -> Callable[[], Iterator[dict[str, Any]]]:
    def repeat() -> Iterator[dict[str, Any]]:
        while True:
            yield event

    return repeat


def _steps() -> Iterator[dict[str, Any]]:
    step = 0
    while True:
        yield POINT | {"step": (step := step + 1), "values": dict.fromkeys(("loss", "lr", *WORDS[:4]), step / 7)}


_OF = {"attempt": 1, "at": 1.0}
EVENTS: Mapping[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "points of new steps": _steps,
    "points of one step": _again(POINT),
    "points of ever new names": _wide,
    "points of another attempt": _again(POINT | {"attempt": 7}),
    "resumed": _again(RESUMED),
    "noticed": _again({"kind": "noticed", **_OF, "metrics": WORDS[2]}),
    "saved": _again({"kind": "saved", **_OF, "step": 3, "stall_s": 1, "write_s": 1, "size_bytes": 1}),
    "started": _again(
        {"kind": "started", **_OF, "world": 1, "hosts": ["h"] * 1000, "device": "x", "steps": 9, "versions": {}}
    ),
    "chose": _again({"kind": "chose", **_OF, "kept": True, "choices": {}}),
    "paused": _again({"kind": "paused", **_OF, "step": 3, "saved_step": 1, "reason": WORDS[2]}),
    "stopped": _again({"kind": "stopped", **_OF, "step": 3, "signal": "SIGTERM"}),
    "finished": _again({"kind": "finished", **_OF, "step": 3, "outputs": True}),
    "failed": _again(FAILED | {"reason": "".join(WORDS[:4]) * 100}),
    "no events": _again({"kind": "none"}),
}


def _flood(path: Path, make: Callable[[], Iterator[dict[str, Any]]]) -> None:
    with path.open("ab") as file:
        for event in make():
            if file.write(json.dumps(event).encode() + b"\n") and file.tell() > FLOOD_BYTES:
                return


CONTENTS: Mapping[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "no UTF-8": lambda: b"\xff\xfe\xed\xa0\x80" * 1000,
    "NULs": lambda: bytes(1 << 16),
    "deep JSON": lambda: b'{"a":[' * 100_000,
    "JSON of another kind": lambda: b"[1e999, -1, null, true, {}]",
    "a number of 5,000 digits": lambda: b"9" * 5_000,
    "lost ranks": lambda: json.dumps(LOST).encode() * 1000,
    "bindings": lambda: json.dumps({"attempt": 1, "ranks": [BOUND | {"rank": 1}] * 1000}).encode(),
    "a failure": lambda: json.dumps(FELL | {"rank": 0, "reason": "".join(WORDS[:4])}).encode(),
    "escapes": lambda: "".join(WORDS[:4]).encode() * 1000,
}
