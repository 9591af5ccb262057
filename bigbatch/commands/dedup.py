"""`bigbatch dedup`: find near-duplicate images in a folder of this machine, and list those that should train.

The search is `python -m trainers.data.dedup` under the same Python, which jobs and steps of workflows start themselves.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from bigbatch.errors import BigbatchError
from bigbatch.terminal.streams import run_shown
from contract.spec.dedup import options

MODULE, NEEDED = "trainers.data.dedup", ("numpy", "PIL", "torch")
Hash = Annotated[
    options.HashKind,
    typer.Option("--hash", help="What a hash compares; the default suits most images."),
]
Bits = Annotated[options.HashBits, typer.Option(help="Number of bits of a hash.")]
Threshold = Annotated[
    int | None,
    typer.Option(min=0, help="Largest number of bits in which two similar images differ; default: 48 of 256, 6 of 64."),
]
Stay = Annotated[options.Stay, typer.Option(help="Which image of a group stays.")]
HoldOut = Annotated[
    int | None, typer.Option(min=options.MIN_HELD_OUT, help="Number of held-out images if there is no val/.")
]
Exact = Annotated[bool, typer.Option("--exact", help="Miss no similar pair, however long that takes.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, help="Threads that decode, and processes that group; default: the cpus of this process."),
]


def dedup(
    folder: Annotated[Path, typer.Argument(help="An image folder, a folder of shards, or any folder with images.")],
    out: Annotated[Path, typer.Option(help="Folder for the list and the reports.")] = Path("dedup"),
    *,
    kind: Hash = options.DEFAULT_HASH,
    bits: Bits = options.DEFAULT_BITS,
    threshold: Threshold = None,
    keep: Stay = options.DEFAULT_STAY,
    exact: Exact = False,
    hold_out: HoldOut = None,
    threads: Threads = None,
) -> None:
    """List the images of FOLDER without near-duplicates, and print the `data` section of a spec that trains on them."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise BigbatchError(
            f"{', '.join(missing)} is not installed here, which decodes images: bigbatch[trainer] has it"
        )
    values = {"hash": kind, "bits": bits, "threshold": threshold, "hold-out": hold_out, "threads": threads}
    chosen = [word for name, value in values.items() if value is not None for word in (f"--{name}", str(value))]
    words = [*chosen, *(["--exact"] if exact else [])]
    command = [sys.executable, "-P", "-m", MODULE, str(folder), "--out", str(out), "--keep", keep, *words]
    code = run_shown(command)
    if code:
        raise typer.Exit(code)
