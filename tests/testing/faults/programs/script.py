"""A user's program for chaos: it takes steps, reports each of them, and keeps a ledger that no fault can reach.

Standard library only, since many of these processes share a small machine. `--report log` calls `bigbatch.log` and
`bigbatch.should_pause`; `output` prints lines and `lines` appends JSON to a file, without any import of bigbatch. The
ranks take each step together. The ledger is on another disk than the run folder, one line for each fact.
"""

import argparse
import json
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
ATTEMPT = int(os.environ.get("BIGBATCH_ATTEMPT", "1"))
LOST = "Connection closed by peer"  # by which the agent knows that another rank failed
MEET_S = 120.0
PAUSED = 4


class Ledger:
    """Facts about the run in the order in which they became true."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644) if RANK == 0 else -1

    def write(self, fact: str, step: int) -> None:
        if self._file >= 0:
            os.write(self._file, f"{fact} {ATTEMPT} {os.getpid()} {step}\n".encode())


class Ranks:
    """The connections between rank 0 and the other ranks: each step is taken by all of them."""

    def __init__(self, folder: Path) -> None:
        place = folder / f"peers-{ATTEMPT}"
        self._peers = (self._listen(place) if RANK == 0 else [self._connect(place)]) if WORLD > 1 else []

    def meet(self) -> None:
        """Return when every rank has come to this call; raise ConnectionError if one has ended."""
        for peer in self._peers:
            if RANK:
                peer.sendall(b".")
            if not peer.recv(1):
                raise ConnectionResetError(LOST)
        for peer in self._peers if RANK == 0 else []:
            peer.sendall(b".")

    def _listen(self, place: Path) -> "list[socket.socket]":
        with socket.create_server(("", 0)) as server:
            server.settimeout(MEET_S)
            draft = place.with_suffix(".draft")
            draft.write_text(f"{server.getsockname()[1]}\n")
            os.replace(draft, place)
            return [server.accept()[0] for _ in range(WORLD - 1)]

    def _connect(self, place: Path) -> socket.socket:
        until = time.monotonic() + MEET_S
        while not place.exists() and time.monotonic() < until:
            time.sleep(0.05)
        return socket.create_connection((os.environ["MASTER_ADDR"], int(place.read_text())), timeout=None)


def read_checkpoint(path: "Path | None") -> int:
    return int(json.loads(path.read_text())) if path and path.exists() else 0


def save(path: Path, step: int) -> bool:
    """Write a checkpoint; on a full disk the old one stays whole."""
    draft = path.with_suffix(".draft")
    try:
        draft.write_text(json.dumps(step))
        os.replace(draft, path)
    except OSError as error:
        print(f"no checkpoint of step {step}: {error}", flush=True)
        return False
    return True


def report(way: str, folder: Path, step: int) -> bool:
    """Report a step; return whether it is sure to be stored."""
    values = {"loss": 1.0 / step, "process": float(os.getpid())}
    if way == "log":
        import bigbatch

        return bool(bigbatch.log(values, step=step))
    if way == "lines":
        return append(folder / "metrics.jsonl", json.dumps({"step": step, **values}).encode() + b"\n")
    with suppress(OSError):
        print(f"step {step} loss {values['loss']:.6f} process {os.getpid()}", flush=True)
    return False  # an agent that is killed may lose the line


def append(path: Path, line: bytes) -> bool:
    """Append a whole line, after the end of a line that a crash or a full disk left incomplete."""
    try:
        with open(path, "a+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            torn = b"\n" if size and file.read(1) != b"\n" else b""
            return file.write(torn + line) == len(torn + line)
    except OSError:
        return False


def is_safe(way: str) -> bool:
    """Return whether all reported steps are in the folder, so that a checkpoint may follow them."""
    if way != "log":
        return True
    import bigbatch

    return bool(bigbatch.finish())


def should_pause(way: str, step: int) -> bool:
    if way != "log":
        return False
    import bigbatch

    return bool(bigbatch.should_pause(step))


def fail(how: str) -> None:
    """End this process in the way that a parameter names."""
    if how == "raise":
        raise RuntimeError("this program fails on purpose")
    if how == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    sys.exit(7)


def train(options: argparse.Namespace) -> int:
    """Take the steps of one attempt and return the exit status."""
    folder, way = options.folder, options.report
    checkpoint = options.checkpoint if options.save_every else None
    ledger, step = Ledger(options.ledger / folder.name), read_checkpoint(checkpoint)
    ledger.write("began", step)
    ranks = Ranks(folder)
    while step < options.steps:
        time.sleep(options.step_s)
        ranks.meet()
        step += 1
        if RANK == 0:
            while not (is_stored := report(way, folder, step)) and way == "lines":
                time.sleep(0.2)  # its file is its only record
            if is_stored:
                ledger.write("reported", step)
            if checkpoint and step % options.save_every == 0 and is_safe(way):
                save(checkpoint, step)
        if step == options.fail_at and options.fails >= ATTEMPT and RANK == WORLD - 1:
            ledger.write("fails", step)
            fail(options.how)
        if should_pause(way, step):
            if RANK == 0 and checkpoint and is_safe(way) and save(checkpoint, step):
                ledger.write("paused", step)
            return PAUSED
    while RANK == 0 and not is_safe(way):
        time.sleep(0.2)
    ledger.write("ended", step)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--report", choices=("log", "output", "lines"), required=True)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--save-every", type=int, default=0)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--step-s", type=float, default=0.2)
    parser.add_argument("--fails", type=int, default=0)
    parser.add_argument("--fail-at", type=int, default=0)
    parser.add_argument("--how", choices=("exit", "raise", "signal"), default="exit")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(train(parse()))
