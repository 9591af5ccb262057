"""Lines for bash: a value is one literal argument in every quoting, and a failure within the line is not hidden."""

import subprocess
from pathlib import Path

import pytest

from agent.program import placeholders
from agent.program.command import program_words
from agent.program.placeholders import fill
from agent.program.shell_line import QuotingError

VALUES = [
    "0.1",
    "two words",
    "it's",
    'a "quoted" word',
    "$HOME `id` $(id) \\ \\n",
    "a\nb",
    "",
    "-1e-05",
    "*",
    "!x #y ~ {a,b}",
    "é 中",
]
# the line, and the text around the value in the only argument that it prints
LINES = [
    ("show {v}", "", ""),
    ('show "{v}"', "", ""),
    ("show '{v}'", "", ""),
    ("show $'{v}'", "", ""),
    ("show --title={v}", "--title=", ""),
    ('show "a {v} b"', "a ", " b"),
    ("show 'a {v} b'", "a ", " b"),
    ("show $'\\t{v}\\'b'", "\t", "'b"),
    ('show "$(show {v})"', "", ""),
    ('show "$(show "{v}"; : \'$(\')"', "", ""),
    ("show \"$(show '{v}')\"", "", ""),
    ("(show {v})", "", ""),
    ('x={v}; show "$x"', "", ""),
    ('x="{v}"; show "${x-none}"', "", ""),
    ("# it's `a comment\nshow {v}", "", ""),
    ("case 1 in 1) show {v};; esac", "", ""),
    ('show "$(( 1 << 1 ))"{v}', "2", ""),
    ('show "${#HOME}" >/dev/null; show "\\"{v}"', '"', ""),
    ("show \\\"{v}\\'", '"', "'"),
    ('x="a\'b"; show {v}', "", ""),
    ("show $(( 16#f ))\"$'{v}'\"", "15$'", "'"),
    ("cat <<< $'a\\'' >/dev/null; show {v}", "", ""),
    ("cat <<'A' <<B >/dev/null\nit's `\nA\n\"\nB\nshow {v}", "", ""),
]
SHOW = "show() { printf '%s' \"$1\"; }\n"


def printed(line: str) -> str:
    """Return what bash prints for a line with the command `show`, which prints its first argument."""
    return subprocess.run(["bash", "-c", SHOW + line], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("line", "before", "after"), LINES)
def test_a_value_is_one_literal_argument_in_every_quoting(line: str, before: str, after: str) -> None:
    for value in VALUES:
        assert printed(fill(line, {"v": value}, is_shell=True)) == f"{before}{value}{after}", value


@pytest.mark.parametrize("head", ["<<EOF", "<<'EOF'", '<<"EOF"', "<<-EOF", "<<\\EOF"])
def test_a_value_in_a_here_document_stands_as_it_is(head: str) -> None:
    line = f'cat {head}\nit\'s "{{v}}" $(\nEOF\n' if "'" in head else f'cat {head}\nit\'s "{{v}}"\nEOF\n'
    for value in VALUES:
        if "\n" in value:
            with pytest.raises(QuotingError, match="could end the here-document"):
                fill(line, {"v": value}, is_shell=True)
        else:
            assert value in printed(fill(line, {"v": value}, is_shell=True)), value
    with pytest.raises(QuotingError, match="could end the here-document"):
        fill(f"cat {head}\n{{v}}\nEOF\n", {"v": "EOF"}, is_shell=True)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("echo `date {v}`", "in backticks"),
        ('echo "`date {v}`"', "in backticks"),
        ("echo ${x:-{v}}", "within ${ }"),
        ('echo "${x:-"{v}"}"', "within ${ }"),
        ("echo \\{v}", "after a backslash"),
        ('echo "\\{v}"', "after a backslash"),
        ("cat <<EOF\n\\{v}\nEOF", "after a backslash"),
        ("echo 'a {v}", "not closed"),
        ('echo "a {v}', "not closed"),
        ("echo $(a {v}", "not closed"),
        ('echo "$(case 1 in 1) echo "{v}";; esac)"', "after `case` in"),
        ("echo ${v}", "take the $ away"),
    ],
)
def test_a_placeholder_where_no_literal_can_stand_is_refused_with_what_to_write(line: str, reason: str) -> None:
    (message,) = placeholders.check_line(line, {"v": "a"})
    assert reason in message


def test_a_variable_of_bash_and_a_comment_are_no_placeholders() -> None:
    line = 'echo ${HOME} "${PATH}" # {other}'
    assert list(placeholders.names_in_line(line)) == []
    assert list(placeholders.check_line(line, {"lr": 1})) == []
    assert fill(line, {}, is_shell=True) == line
    assert fill("echo ${{HOME}} {{lr}}", {"lr": 1}, is_shell=True) == "echo ${HOME} {lr}"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("(exit 3) | cat", 3),
        ("true | true", 0),
        ("(exit 3)\necho later", 3),
        ("\n(exit 3); exit 0\n", 0),  # one line, whose author decides
        ("set +e +o pipefail\n(exit 3) | cat\n(exit 3)\ntrue", 0),
        (["bash", "-c", "(exit 3) | cat"], 0),
    ],
)
def test_a_failure_within_a_line_for_bash_is_the_failure_of_the_program(
    command: str | list[str], status: int, tmp_path: Path
) -> None:
    words = program_words({"command": command}, tmp_path)
    assert subprocess.run(words, capture_output=True).returncode == status
