"""What each pattern of a field asks for, in words: a person is not shown a regular expression."""

from typing import Final

_NO_CONTROL = "no line breaks, tabs or other control characters"
_NAME = "a letter or _, then letters, digits and _"
_ONE_LINE = f"one line of text: {_NO_CONTROL}"
_TEXT = "a text without NUL characters"
_HASH = "64 hexadecimal digits in small letters"
_WORD = "without spaces, quotes or backslashes: letters, digits and"

# by pattern; tests/api/test_pattern_words.py asserts that each pattern of a field and of a parameter is here
PATTERN_WORDS: Final = {
    r"^(/[^\x00-\x20\x7f]*)?$": "an address of the dashboard: / and no spaces or control characters",
    r"^/[^,\x00-\x1f\x7f]*$": f"a path that begins with / and has no comma, on one line: {_NO_CONTROL}",
    r"^/[^\x00-\x1f\x7f]*$": f"a path that begins with /, on one line: {_NO_CONTROL}",
    r"^/[^\x00]*$": "a path that begins with /, without NUL characters",
    r"^[ -~]+$": "printable ASCII characters",
    r"^[0-9]{1,10}:[0-9]{1,10}$": "two numbers with a colon between them, as 42:1200",
    r"^[0-9a-f]{40,64}$": "40 to 64 hexadecimal digits in small letters, as git prints them",
    r"^[0-9a-f]{64}$": _HASH,
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$": "a letter or digit, then letters, digits and . _ -",
    r"^[A-Za-z0-9][A-Za-z0-9_./+-]*$": "a letter or digit, then letters, digits and _ . / + -",
    r"^[A-Za-z0-9_-]{1,100}$": "1 to 100 letters, digits and _ -",
    r"^[A-Za-z0-9_.,:;=&|*()\[\]@+-]+$": f"a word {_WORD} _ . , : ; = & | * ( ) [ ] @ + -",
    r"^[A-Za-z0-9_.,:;=&|*()\[\]@+/%-]+$": f"a word {_WORD} _ . , : ; = & | * ( ) [ ] @ + / % -",
    r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}$": "the name of a host: letters, digits and . _ -, 255 characters at most",
    r"^[A-Za-z][A-Za-z0-9_]*$": "a letter, then letters, digits and _",
    r"^[A-Za-z_][A-Za-z0-9_]*$": _NAME,
    r"^[a-z][a-z0-9-]*$": "the long name of an option of sbatch without its dashes: small letters, digits and -",
    r"^[^/\x00-\x1f\x7f][^\x00-\x1f\x7f]*$": f"a path that does not begin with /, on one line: {_NO_CONTROL}",
    r"^[^\s,\x00-\x1f\x7f]+$": "one word: no spaces, commas or control characters",
    r"^[^\x00-\x1f\x7f-\x9f]*$": _ONE_LINE,
    r"^[^\x00-\x1f\x7f-\x9f]+$": _ONE_LINE,
    r"^[^\x00-\x1f\x7f-\x9f]{1,200}$": f"1 to 200 characters on one line: {_NO_CONTROL}",
    r"^[^\x00-\x1f\x7f]*$": _ONE_LINE,
    r"^[^\x00-\x1f\x7f]+$": _ONE_LINE,
    r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$": f"{_ONE_LINE}, and not only spaces",
    r"^[^\x00-\x20\x7f#]*$": "a part of an address: no spaces, # or control characters",
    r"^[^\x00\r\n]*$": "one line of text: no line breaks",
    r"^[^\x00]*$": _TEXT,
    r"^[^\x00]+$": _TEXT,
    r"^[^\x00]*\S[^\x00]*$": f"{_TEXT}, and not only spaces",
    r"^[wlmd]*$": "the letters w, l, m and d, one for each chunk",
    r"^data:image/(svg\+xml|png);base64,[A-Za-z0-9+/]+={0,2}$": "a picture as a data URL: SVG or PNG in base64",
    r"^step-[0-9]{10}-attempt-[0-9]{1,9}$": "the name of a checkpoint, as step-0000001200-attempt-1",
    r"^x(?:[1-9][0-9]?|1\.[0-9]{1,3}|[2-9]\.[0-9]{1,3})$": "a factor from x1 to x99, as x2 or x1.5",
}
OTHER = "another form of text"


def pattern_words(pattern: str) -> str:
    """Return what a text must be that shall match the pattern."""
    return f"expected {PATTERN_WORDS.get(pattern, OTHER)}"
