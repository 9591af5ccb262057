"""Rules of the code that a machine can check: sizes, names, state, and what may be written and read where."""

import ast
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.testing import code_rules as rules
from tests.testing.code_rules import ROOT, Rule, breaches, lines, tracked

pytestmark = pytest.mark.ring("quick")

# rule -> files or folders that break the rule today; an entry goes as soon as the file follows the rule
NOT_YET: dict[str, str] = {}

LONGEST_FILE = 300
GENERATED = {"schema.d.ts", "package-lock.json", "constraints.txt", "service.txt", "dev.txt", "uv.txt"}
CODE = {".py", ".ts", ".tsx", ".css", ".sh", ".js", ".mjs"}
# files of the service itself, and the module that opens files of jobs
OPENS_FILES = {
    "contract/folder/files/untrusted_file.py",
    "contract/folder/files/new_content.py",
    "contract/folder/files/whole_folder.py",  # opens folders alone, and follows no link
    "api/dashboard.py",  # the built page
    "api/drafts/recipes.py",  # the files of this repository
    "scheduler/doctor/visibility.py",  # the modes of the service's own folders
    "scheduler/folder_broker.py",
    "scheduler/submit/tools.py",
}


def check(rule: str, found: dict[str, str]) -> None:
    """Fail on a file that breaks the rule and is not listed, and on a listed file that follows the rule."""
    listed = {*NOT_YET.get(rule, "").split()}
    assert not [found[name] for name in sorted(found) if name not in listed], rule
    assert not sorted(listed - set(found)), f"{rule}: these follow the rule now, take them from NOT_YET"


def is_migration(name: str) -> bool:
    """Whether the file is a migration: a list of statements under a fixed name, which never changes."""
    return name.startswith("migrations/versions/")


def test_no_function_is_longer_than_45_lines() -> None:
    found = breaches(rules.long_functions)
    check("long functions", {name: at for name, at in found.items() if not is_migration(name)})


def test_no_file_is_longer_than_300_lines() -> None:
    code = [name for name in tracked() if Path(name).suffix in CODE and Path(name).name not in GENERATED]
    assert not {name: count for name in code if (count := lines(name)) > LONGEST_FILE}


def test_no_module_of_the_scheduler_has_state() -> None:
    check("module state", breaches(rules.module_state, "scheduler"))


def test_no_function_of_the_scheduler_takes_a_row_of_unknown_type() -> None:
    check("untyped rows", breaches(rules.untyped_rows, "scheduler"))


def test_only_transitions_write_a_state() -> None:
    found = breaches(rules.state_writes, "store", "scheduler")
    found.pop("store/transitions.py", None)
    found.pop("store/steps/transitions.py", None)  # of steps
    found.pop("store/mirror/copies.py", None)  # of copies in the object store
    check("state writes", found)


def test_only_change_spec_writes_the_spec_of_a_stored_run() -> None:
    """The table of runs has rows for the fields of specs, which must change with them."""
    found = breaches(rules.spec_writes, "api", "scheduler", "store")
    found.pop("store/runs.py", None)
    for name in ("lifecycle/new_runs", "recorded/recordings"):  # rows of new runs
        found.pop(f"store/{name}.py", None)
    check("spec writes", found)


def test_no_decision_reads_a_sentence() -> None:
    check("read sentences", breaches(rules.read_sentences, "store", "scheduler"))


def test_files_of_jobs_are_opened_in_one_place() -> None:
    """A job may leave a link, a FIFO or a huge file: only folder/files/untrusted_file.py opens it."""
    rooms = ("api/", "scheduler/", "contract/folder/", "contract/diagnosis/")
    found = breaches(rules.bare_opens, "api", "scheduler", "contract")
    check("bare opens", {name: at for name, at in found.items() if name.startswith(rooms) and name not in OPENS_FILES})


def test_every_command_of_the_scheduler_gets_an_environment_without_secrets() -> None:
    check("inherited environments", breaches(rules.inherited_environments, "scheduler"))


def test_what_commands_print_has_one_way_out() -> None:
    """Names, notes and logs of others may have escapes: only bigbatch/terminal writes to the terminal itself."""
    inside = ("bigbatch/terminal/", "bigbatch/running/", "bigbatch/injected/")  # the latter two: in jobs
    found = breaches(rules.unshown_output, "bigbatch")
    check("unshown output", {name: at for name, at in found.items() if not name.startswith(inside)})


def test_no_rank_unpickles_or_serves_an_open_store() -> None:
    found = breaches(rules.unpickling, "trainers")
    for name in ("messages", "process"):  # between a rank and its own processes; no pickle comes from a network
        found.pop(f"trainers/data/workers/{name}.py", None)
    check("pickles", found)


def test_ruff_limits_complexity_and_wants_imperative_docstrings() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    assert {"C90", "D401"} <= {*lint["select"]}
    assert lint["mccabe"]["max-complexity"] == 10


def test_ruff_ignores_a_rule_only_where_the_rule_is_broken() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    words = ["ruff", "check", "--isolated", "--select=C901,D401", "--output-format=concise"]
    printed = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True).stdout
    found = re.findall(r"^(.+?):\d+:\d+: (C901|D401) ", printed, re.MULTILINE)
    for pattern, codes in lint["per-file-ignores"].items():
        broken = {code for name, code in found if fnmatch(name, pattern)}
        assert {*codes} <= broken, f"{pattern} follows { ({*codes} - broken) } now"


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (rules.long_functions, "def f():\n" + "    pass\n" * 45),
        (rules.module_state, "seen = {}\ndef f():\n    seen[1] = 2"),
        (rules.module_state, "seen = set()\ndef f():\n    seen.add(2)"),
        (rules.module_state, "def f():\n    global seen"),
        (rules.untyped_rows, "def f(rows: Sequence[Any]): ..."),
        (rules.state_writes, "update(Run).values(state=1)"),
        (rules.state_writes, "run.state = 1"),
        (rules.state_writes, "change = {'state': 1}"),
        (rules.spec_writes, "run.spec = {}"),
        (rules.spec_writes, "update(Run).values(spec={})"),
        (rules.spec_writes, "setattr(run, 'spec', {})"),
        (rules.spec_writes, "columns = {'spec': {}}"),
        (rules.spec_writes, "columns['spec'] = {}"),
        (rules.inherited_environments, "subprocess.run(['squeue'], check=True)"),
        (rules.inherited_environments, "Popen(words)"),
        (rules.inherited_environments, "os.system('squeue')"),
        (rules.read_sentences, "if 'the job was' in run.reason: ..."),
        (rules.read_sentences, "run.reason.removesuffix(SOUGHT)"),
        (rules.bare_opens, "(folder.path / 'collective.json').read_bytes()"),
        (rules.bare_opens, "with open(folder.log) as file: ..."),
        (rules.bare_opens, "folder.log.open('ab')"),
        (rules.bare_opens, "os.stat(folder.events)"),
        (rules.unshown_output, "Console(stderr=True).print(name)"),
        (rules.unshown_output, "typer.echo(name)"),
        (rules.unshown_output, "sys.stdout.buffer.write(text)"),
        (rules.unshown_output, "sys.__stdout__.write(name)"),
        (rules.unshown_output, "os.write(1, text)"),
        (rules.unshown_output, "os.system('scheduler preview')"),
        (rules.unshown_output, "subprocess.run(command, check=False)"),
        (rules.unpickling, "import pickle"),
        (rules.unpickling, "from pickle import loads"),
        (rules.unpickling, "from torch.distributed import TCPStore"),
        (rules.unpickling, "dist.all_gather_object(values, own)"),
        (rules.unpickling, "dist.broadcast_object_list(values)"),
        (rules.unpickling, "dist.scatter_object_list(values, own)"),
        (rules.unpickling, "torch.load(path)"),
        (rules.unpickling, "np.load(path, allow_pickle=True)"),
    ],
)
def test_a_planted_breach_is_caught(rule: Rule, source: str) -> None:
    assert list(rule(ast.parse(source)))
