"""Sizes, rates and times as people write them: 100MB, 16MiB, 10GB/s, 200mbit, 20us."""

import re

import typer

PREFIXES = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
AMOUNT = re.compile(r"(?P<number>\d+(\.\d+)?(e[+-]?\d+)?) ?(?P<prefix>[kmgt]?)(?P<binary>i?)(?P<unit>b|bytes?|bits?)?")
TIME = re.compile(r"(?P<number>\d+(\.\d+)?(e[+-]?\d+)?) ?(?P<unit>[mun]?s)")
THOUSANDS = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def size(text: str) -> float:
    """Bytes of "100MB", "16MiB" or "4096"."""
    if not (found := AMOUNT.fullmatch(text.strip().lower())):
        raise typer.BadParameter(f"{text!r} is no size; 100MB, 16MiB and 4096 are")
    factor = (1024.0 if found["binary"] else 1000.0) ** PREFIXES[found["prefix"]]
    return float(found["number"]) * factor / (8 if (found["unit"] or "").startswith("bit") else 1)


def rate(text: str) -> float:
    """Bytes per second of "10GB/s" or, as tc has it, "200mbit"."""
    try:
        return size(text.strip().removesuffix("/s"))
    except typer.BadParameter:
        raise typer.BadParameter(f"{text!r} is no rate; 10GB/s, 200Mbit/s and 200mbit are") from None


def seconds(text: str) -> float:
    """Seconds of "20us" or "1.5ms"."""
    if not (found := TIME.fullmatch(text.strip().lower())):
        raise typer.BadParameter(f"{text!r} is no time; 20us, 1.5ms and 2s are")
    return float(found["number"]) * SECONDS[found["unit"]]


def bytes_in_words(amount: float) -> str:
    """An amount of bytes with its unit, three digits of it."""
    unit, factor = next(((unit, factor) for unit, factor in THOUSANDS if amount >= factor), ("B", 1.0))
    return f"{amount / factor:.3g} {unit}"


def time_in_words(amount_s: float) -> str:
    """Seconds with their unit, to four digits."""
    unit, factor = next(((unit, factor) for unit, factor in SECONDS.items() if amount_s >= factor), ("ns", 1e-9))
    return f"{amount_s / factor:,.4g} {unit}" if amount_s < 1e4 else f"{amount_s:,.0f} s"
