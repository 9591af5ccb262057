"""Atomic file writes: a reader sees the whole file or no file, also after a crash and on a shared file system.

A name is below its folder, and no component of the name may be a link (contract/folder/files/untrusted_file).
"""

from pathlib import Path

from contract.folder.files.untrusted_file import open_folder
from runfiles import whole_file


def write_exclusive(folder: Path, name: str, text: str, *, mode: int = 0o666) -> bool:
    """Create a file with all its text, unless the file exists. Return whether this call created the file.

    The file never has more permissions than `mode`, at no moment.
    """
    above, _, leaf = name.rpartition("/")
    with open_folder(folder, above) as parent:
        return whole_file.create(parent, leaf, text, mode=mode)


def write_atomic(folder: Path, name: str, text: str, *, mode: int = 0o666) -> None:
    """Create or replace a file with the permissions `mode`, less the umask: no reader sees a part of the text."""
    above, _, leaf = name.rpartition("/")
    with open_folder(folder, above) as parent:
        whole_file.replace(parent, leaf, text, mode=mode)


def write_new(folder: Path, name: str, text: str) -> None:
    """Create a file; raise FileExistsError if the name exists. A crash may leave a part of the text."""
    above, _, leaf = name.rpartition("/")
    with open_folder(folder, above) as parent:
        whole_file.write_new(parent, leaf, text)
