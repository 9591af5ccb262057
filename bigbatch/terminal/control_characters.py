"""Control characters as text: a log may contain escape sequences that a terminal would obey."""

import re

# C0 except tab and line break, DEL, C1, the marks that change the direction of the text around them, and Unicode's own
# line breaks
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_LINE_ENDS = re.compile("\r\n?")


def show_control_characters(text: str) -> str:
    """Return the text with ^[ for an escape, \\u009b for a C1 control, and a line break for a carriage return."""
    return _CONTROLS.sub(_name, _LINE_ENDS.sub("\n", text))


def _name(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"^{chr(code ^ 0x40)}" if code < 0x80 else f"\\u{code:04x}"
