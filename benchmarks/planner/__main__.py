"""Write the table of published rows into docs/techniques/planner.md."""

from pathlib import Path

from benchmarks.planner.published import table

PAGE = Path(__file__).parents[2] / "docs" / "techniques" / "planner.md"
BEGIN, END = "<!-- rows: python -m benchmarks.planner -->\n", "<!-- end of rows -->\n"


def with_table(page: str) -> str:
    """Return the page with the newest table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
