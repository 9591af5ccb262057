"""A user's net that searches this machine for words, as a hostile job would; as a program, the search itself."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def network(channels: int, classes: int, report: str, words: list[str], folder: str) -> object:
    """Search for the words, which are in hexadecimal so that the spec does not contain them; return a small net."""
    from torch import nn

    command = [sys.executable, __file__, report, folder, *words]
    subprocess.run(command, check=True)
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * 64, classes))


def read_all(paths: Iterator[Path], hidden: list[str]) -> Iterator[tuple[Path, bytes]]:
    """Yield the files that this process may read; add the paths of the others to `hidden`."""
    for path in paths:
        try:
            yield path, path.read_bytes()
        except PermissionError:
            hidden.append(str(path))
        except OSError:  # the process or the file has gone
            continue


def main(report: str, folder: str, *words: str) -> None:
    """Write to `report` where each word is, and which files this process must not read."""
    hidden: list[str] = []
    places: dict[str, list[str]] = {word: [] for word in words}
    of_processes = (path / name for path in Path("/proc").glob("[0-9]*") for name in ("environ", "cmdline"))
    of_files = (path for path in Path(folder).rglob("*") if path.is_file())
    for paths in (of_processes, of_files):
        for path, content in read_all(paths, hidden):
            for word in words:
                if bytes.fromhex(word) in content:
                    places[word].append(str(path))
    draft = Path(f"{report}.draft")
    draft.write_text(json.dumps({"places": places, "hidden": hidden, "environ": f"/proc/{os.getpid()}/environ"}))
    draft.replace(report)


if __name__ == "__main__":
    main(*sys.argv[1:])
