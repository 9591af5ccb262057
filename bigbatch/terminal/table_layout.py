"""The widths of a table's columns: lines are folded between words, and a word only where nothing else is left.

Where not even the longest words fit side by side, a row is a paragraph: a line for each of its cells.
"""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

GAP = 1  # between two columns


def lay_out(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, may_turn: bool) -> Table:
    """Return the table for a terminal of this width; without `may_turn`, as for a file, a row stays a row."""
    columns = list(zip(heads, *rows, strict=True))
    widths = column_widths(columns, width)
    if widths is None and may_turn:
        return _paragraphs(heads, rows, width)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    for index, head in enumerate(heads):
        table.add_column(head, overflow="fold", width=widths[index] if widths else None)
    for row in rows:
        table.add_row(*row)
    return table


def column_widths(columns: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """Return a width for each column so that no word is broken; None if the words do not fit side by side."""
    least = [max(map(_longest_word, cells)) for cells in columns]
    widths = [max(map(_longest_line, cells)) for cells in columns]
    room = width - GAP * (len(columns) - 1)
    if sum(least) > room:
        return None
    while (excess := sum(widths) - room) > 0:
        # the widest column that has words to fold gives way, down to the next one
        wide = max((index for index in range(len(widths)) if widths[index] > least[index]), key=widths.__getitem__)
        others = [widths[index] for index in range(len(widths)) if index != wide and widths[index] < widths[wide]]
        widths[wide] -= min(excess, widths[wide] - least[wide], max(1, widths[wide] - max(others, default=0)))
    return widths


def _paragraphs(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Table:
    """Return the rows one below the other, each cell behind its head, which leaves the cells half of the width."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, GAP, 0, 0))
    widest = max(map(cell_len, heads), default=0)
    table.add_column(overflow="fold", width=min(widest, width // 2), style="bold")
    table.add_column(overflow="fold")
    for number, row in enumerate(rows):
        if number:
            table.add_row("", "")
        for head, cell in zip(heads, row, strict=True):
            if cell:
                table.add_row(Text(head), cell)
    return table


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _longest_line(text: str) -> int:
    return max(map(cell_len, text.splitlines()), default=0)
