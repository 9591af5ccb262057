"""The command `python -m contract.reference`: write the reference of all fields of a spec, pages in docs/."""

from pathlib import Path

from contract.reference.pages import render_pages

FOLDER = Path("docs")


def main() -> None:
    """Write the pages into docs/ of the folder in which the command runs."""
    for name, text in render_pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"{FOLDER / name}: written")


if __name__ == "__main__":
    main()
