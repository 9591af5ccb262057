"""Parsers and formatters of sizes, rates and times: 100MB, 16MiB, 10GB/s, 200mbit, 20us."""

import re

import typer

PREFIXES = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
AMOUNT = re.compile(r"(?P<number>\d+(\.\d+)?(e[+-]?\d+)?) ?(?P<prefix>[kmgt]?)(?P<binary>i?)(?P<unit>b|bytes?|bits?)?")
TIME = re.compile(r"(?P<number>\d+(\.\d+)?(e[+-]?\d+)?) ?(?P<unit>[mun]?s)")
THOUSANDS = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def parse_size(text: str) -> float:
    """Return the bytes of "100MB", "16MiB" or "4096"; raise typer.BadParameter."""
    if not (found := AMOUNT.fullmatch(text.strip().lower())):
        raise typer.BadParameter(f"{text!r} is not a size; examples: 100MB, 16MiB, 4096")
    factor = (1024.0 if found["binary"] else 1000.0) ** PREFIXES[found["prefix"]]
    return float(found["number"]) * factor / (8 if (found["unit"] or "").startswith("bit") else 1)


def parse_rate(text: str) -> float:
    """Return the bytes per second of "10GB/s", or of "200mbit" as in tc; raise typer.BadParameter."""
    try:
        return parse_size(text.strip().removesuffix("/s"))
    except typer.BadParameter:
        raise typer.BadParameter(f"{text!r} is not a rate; examples: 10GB/s, 200Mbit/s, 200mbit") from None


def parse_duration(text: str) -> float:
    """Return the seconds of "20us" or "1.5ms"; raise typer.BadParameter."""
    if not (found := TIME.fullmatch(text.strip().lower())):
        raise typer.BadParameter(f"{text!r} is not a time; examples: 20us, 1.5ms, 2s")
    return float(found["number"]) * SECONDS[found["unit"]]


def format_bytes(amount: float) -> str:
    """Return an amount of bytes with three digits and a unit."""
    unit, factor = next(((unit, factor) for unit, factor in THOUSANDS if amount >= factor), ("B", 1.0))
    return f"{amount / factor:.3g} {unit}"


def format_duration(amount_s: float) -> str:
    """Return seconds with four digits and a unit."""
    unit, factor = next(((unit, factor) for unit, factor in SECONDS.items() if amount_s >= factor), ("ns", 1e-9))
    return f"{amount_s / factor:,.4g} {unit}" if amount_s < 1e4 else f"{amount_s:,.0f} s"
