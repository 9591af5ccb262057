"""Numbers in texts that people read: with color codes of a terminal, signs of percent and separators of thousands."""

from __future__ import annotations

import re

# ECMA-48: control sequences (colors, movements), strings such as a window's title, and the short ones
_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-OQ-WYZ\\`-~])")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{2,3})*,\d{3}(?:\.\d*)?")
# an exponent of more digits is no measured value, but a part of a hash, such as 12e4567
_NUMBER = re.compile(r"[+-]?(?:(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?|nan|inf(?:inity)?)", re.IGNORECASE)


def without_codes(text: str) -> str:
    """Return the text without the codes by which a terminal shows colors."""
    return _CODES.sub("", text) if "\x1b" in text else text


def number_of(text: str) -> float | None:
    """Return the number of a text such as "0.31", "1e-4", "1,024", "nan" or "91%", which is 91; None for another."""
    plain = without_codes(text).strip().rstrip(",; \t")
    if plain.endswith("%"):
        plain = plain[:-1].rstrip()
    if "," in plain:
        if not _THOUSANDS.fullmatch(plain):  # "0,5" is a half in many languages, and never 5
            return None
        plain = plain.replace(",", "")
    try:
        return float(plain) if _NUMBER.fullmatch(plain) else None
    except ValueError:
        return None
