"""A search for the service's secrets, by a user's net as a hostile job, or as a program of another user.

`python spy.py REPORT` reads what to search from its standard input and writes what it has found to the file REPORT.
"""

import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

OF_A_PROCESS: dict[str, Callable[[str], object]] = {  # each gives a secret to a process that may do it
    "mem": lambda path: os.close(os.open(path, os.O_RDONLY)),
    "fd": lambda path: [os.readlink(f"{path}/{number}") for number in os.listdir(path)],
    "maps": lambda path: Path(path).read_bytes(),
}


def network(channels: int, classes: int, report: str, search: dict[str, Any]) -> object:
    """Search as this job; return a small net."""
    from torch import nn

    command = [sys.executable, __file__, report]
    subprocess.run(command, input=json.dumps(search).encode(), check=True)
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * 64, classes))


def main(report: str) -> None:
    """Search.

    `words`, in hexadecimal so that no spec contains them: in which files of processes and of `folders` each is;
    `servers`, [host, port, bytes in hexadecimal]: what each answers; `requests`, [method, address]: each status.
    """
    asked = json.loads(sys.stdin.read())
    hidden: list[str] = []
    readable: list[str] = []
    places: dict[str, list[str]] = {word: [] for word in asked["words"]}
    for path, content in read_all(files(asked["folders"]), hidden):
        readable += [] if path.is_relative_to("/proc") else [str(path)]
        for word in places:
            if bytes.fromhex(word) in content:
                places[word].append(str(path))
    found = {
        "places": places,
        "hidden": hidden,
        "readable": readable,
        "open": list(open_processes(hidden)),
        "environ": f"/proc/{os.getpid()}/environ",
        "answers": [answer_of(*server) for server in asked.get("servers", [])],
        "statuses": [status_of(*request) for request in asked.get("requests", [])],
    }
    draft = Path(f"{report}.draft")
    draft.write_text(json.dumps(found))
    draft.replace(report)


def files(folders: list[str]) -> Iterator[Path]:
    for process in Path("/proc").glob("[0-9]*"):
        yield process / "environ"
        yield process / "cmdline"
    for folder in folders:
        for above, _, names in os.walk(folder):
            yield from (Path(above) / name for name in names)


def read_all(paths: Iterator[Path], hidden: list[str]) -> Iterator[tuple[Path, bytes]]:
    """Yield the regular files that this process may read; add the paths of the others to `hidden`."""
    for path in paths:
        try:
            if path.is_file():
                yield path, path.read_bytes()
        except PermissionError:
            hidden.append(str(path))
        except OSError:  # the process or the file has gone
            continue


def open_processes(hidden: list[str]) -> Iterator[str]:
    """Yield what this process may open of other processes; add the rest to `hidden`."""
    for process in Path("/proc").glob("[0-9]*"):
        for name, look in OF_A_PROCESS.items():
            try:
                look(f"{process}/{name}")
                yield f"{process}/{name}"
            except PermissionError:
                hidden.append(f"{process}/{name}")
            except OSError:
                continue


def answer_of(host: str, port: int, question: str) -> str:
    """Return the first bytes that a server answers, in hexadecimal; empty if it closes the connection."""
    with suppress(OSError), socket.create_connection((host, port), timeout=20) as connection:
        connection.sendall(bytes.fromhex(question))
        return connection.recv(1000).hex()
    return ""


def status_of(method: str, address: str) -> int:
    """Return the status of a request without credentials."""
    request = urllib.request.Request(address, method=method, data=b"{}" if method == "POST" else None)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


if __name__ == "__main__":
    main(sys.argv[1])
