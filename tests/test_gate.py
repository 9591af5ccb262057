"""The gate itself: what hangs ends with its stacks, what fails twice fails, and what fails once is called unstable."""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from tests.gate import unstable
from tests.gate.stages import PytestStage, Stage, VitestStage

ROOT = Path(__file__).parents[1]
ONCE = """
    def test_fails_once(tmp_path):
        first = not SEEN.exists()
        SEEN.touch()
        assert not first, "the first time"
"""
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
TESTS = PytestStage("tests", PYTEST, 300)
FAILS = Stage("checks", (sys.executable, "-c", "raise SystemExit('a wrong type')"), 60)
# as in the gate itself, in one process
BESIDE = PytestStage("tests", PYTEST, 300, side_by_side=("-n", "1", "--dist", "loadgroup"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tests of its own, which the gate's part of pytest selects and records."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\nmarkers = slurm: a server\n")
    (tmp_path / "tests" / "conftest.py").write_text('pytest_plugins = ["tests.gate.recorder"]\n')
    return tmp_path


def write(project: Path, name: str, source: str) -> None:
    seen = f"import pathlib\nSEEN = pathlib.Path({str(project / f'{name}.seen')!r})\n"
    (project / "tests" / f"{name}.py").write_text(seen + textwrap.dedent(source))


def carried_out(project: Path, *stages: Stage, before: str = "", side_by_side: bool = False) -> tuple[bool, str]:
    """Carry stages out, one after another or side by side; return whether the gate passed and what it printed.

    The gate is a process of its own, because it ends all processes below it.
    """
    imports = "import sys; from pathlib import Path; from tests.gate import processes; from tests.gate.gate import Gate"
    kinds = "from tests.gate.stages import PytestStage, Stage"
    steps = [[[stage] for stage in stages]] if side_by_side else [[[stage]] for stage in stages]
    code = f"{imports}; {kinds}\n{before}\nsys.exit(not Gate(Path('.')).run({steps!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode == 0, done.stdout


def test_a_test_that_hangs_ends_its_stage_with_the_tests_in_progress_and_all_stacks(project: Path) -> None:
    """Forces the time limit at the moment in which the test hangs."""
    hangs = "import threading\ndef test_hangs():\n    SEEN.touch()\n    threading.Event().wait()"
    write(project, "test_a", hangs)
    limit = """
import time
def wait_for_the_test(process, until, show):
    while not Path("test_a.seen").exists():
        assert process.poll() is None
        time.sleep(0.01)
processes._wait = wait_for_the_test
"""
    passed, printed = carried_out(project, BESIDE, before=limit)
    assert not passed
    assert "tests did not end within 300 s" in printed
    assert "tests in progress:\ntests/test_a.py::test_hangs" in printed
    assert re.search(r'test_a.py", line [56] in test_hangs', printed)


def test_a_stage_ends_at_its_time_limit(project: Path) -> None:
    passed, printed = carried_out(project, Stage("sleeps", ("sleep", "600"), 0.1))
    assert not passed
    assert "sleeps did not end within 0.1 s" in printed


def test_a_test_that_always_fails_fails_the_gate(project: Path) -> None:
    write(project, "test_a", "def test_passes(): pass\ndef test_fails(): assert 1 == 2")
    passed, printed = carried_out(project, BESIDE)
    assert not passed
    assert "tests/test_a.py::test_fails failed twice, the second time alone" in printed
    assert unstable.count(project) == 0


def test_a_test_that_fails_the_first_time_is_unstable_and_listed_with_its_output(project: Path) -> None:
    write(project, "test_a", ONCE)
    passed, printed = carried_out(project, BESIDE)
    assert passed, printed
    assert "unstable (failed, then passed alone):\n## tests/test_a.py::test_fails_once" in printed
    assert unstable.count(project) == 1
    assert "AssertionError: the first time" in (project / unstable.LIST).read_text()


def test_four_unstable_tests_fail_the_gate(project: Path) -> None:
    for number in range(4):
        write(project, f"test_{number}", ONCE)
    passed, printed = carried_out(project, TESTS)
    assert not passed
    assert "4 tests are unstable, at most 3 may be" in printed


def test_an_unstable_test_does_not_hide_a_later_stage(project: Path) -> None:
    write(project, "test_a", ONCE)
    passed, printed = carried_out(project, TESTS, Stage("later", ("false",), 60))
    assert not passed
    assert "later failed (exit status 1)" in printed


@pytest.mark.ring("all")
def test_an_unstable_test_does_not_hide_that_pytest_was_interrupted(project: Path) -> None:
    """Forces exit status 2: the tests that follow were not carried out."""
    write(project, "test_a", ONCE)
    write(project, "test_b", "import pytest\ndef test_ends():\n    pytest.exit('no more', 2)")
    passed, printed = carried_out(project, TESTS)
    assert not passed
    assert "tests failed (exit status 2)" in printed


@pytest.mark.ring("all")
@pytest.mark.parametrize("second", ["os._exit(0)", "pytest.skip('not now')"])
def test_a_test_that_is_not_carried_out_the_second_time_has_not_passed(project: Path, second: str) -> None:
    source = ONCE.replace("assert not first", f"None if first else {second}; assert not first")
    write(project, "test_a", "import os, pytest\n" + textwrap.dedent(source))
    passed, printed = carried_out(project, TESTS)
    assert not passed
    assert "test_fails_once failed twice" in printed


@pytest.mark.ring("all")
def test_a_process_of_pytest_that_ends_by_itself_fails_the_test_that_it_ran(project: Path) -> None:
    write(project, "test_a", "import os\ndef test_ends():\n    os._exit(0)")
    passed, printed = carried_out(project, BESIDE)
    assert not passed
    assert "tests/test_a.py::test_ends failed twice" in printed


def test_a_command_that_fails_ends_the_gate_before_the_next_step(project: Path) -> None:
    passed, printed = carried_out(project, FAILS, Stage("later", ("true",), 60))
    assert not passed
    assert "a wrong type" in printed
    assert "checks failed (exit status 1)" in printed
    assert "later" not in printed


def test_a_command_that_fails_ends_what_runs_beside_it(project: Path) -> None:
    """Without that, an error of the types cost the minutes of all tests."""
    passed, printed = carried_out(project, Stage("sleeps", ("sleep", "600"), 700), FAILS, side_by_side=True)
    assert not passed
    assert "sleeps was ended, because another stage failed" in printed
    assert printed.endswith("The gate failed:\n  checks failed (exit status 1)\n")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_what_a_stage_leaves_running_ends_with_it(project: Path) -> None:
    source = "import subprocess, sys; p = subprocess.Popen(['sleep', '600'], start_new_session=True); print(p.pid)"
    _, printed = carried_out(project, Stage("leaves", (sys.executable, "-c", source), 60))
    (pid,) = [int(line) for line in printed.splitlines() if line.isdigit()]
    assert not psutil.pid_exists(pid)
    assert "left running, ended now: sleep 600" in printed


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_a_process_that_ends_after_its_parent_is_awaited_while_the_stage_runs(project: Path) -> None:
    """Otherwise it stays a zombie, and a test that waits for its end fails."""
    source = """
import os, subprocess, sys, time
code = "import subprocess; print(subprocess.Popen(['sleep', '0.1'], stdout=subprocess.DEVNULL).pid)"
orphan = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()
while os.path.exists(f"/proc/{orphan}"): time.sleep(0.05)
"""
    passed, printed = carried_out(project, Stage("leaves", (sys.executable, "-c", source), 60))
    assert passed, printed


RINGS = """
    import pytest
    @pytest.mark.ring("quick")
    def test_quick(): pass
    def test_plain(): pass
    @pytest.mark.ring("all")
    def test_all(): pass
    @pytest.mark.slurm
    def test_server(): pass
    @pytest.mark.slurm
    @pytest.mark.ring("gate")
    def test_walk(): pass
    @pytest.mark.parametrize("kind", ["a", pytest.param("b", marks=pytest.mark.ring("all"))])
    def test_kinds(kind): pass
    @pytest.mark.ring("gate", others="all")
    @pytest.mark.parametrize("number", [1, 2])
    def test_one(number): pass
"""


@pytest.mark.parametrize(
    ("ring", "names"),
    [
        ("quick", ["quick"]),
        ("gate", ["quick", "plain", "walk", "kinds[a]", "one[1]"]),
        ("all", ["quick", "plain", "all", "server", "walk", "kinds[a]", "kinds[b]", "one[1]", "one[2]"]),
    ],
)
def test_each_ring_contains_the_ring_before_it(project: Path, ring: str, names: list[str]) -> None:
    write(project, "test_a", RINGS)
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", f"--ring={ring}"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert [line.partition("::test_")[2] for line in done.stdout.splitlines() if "::" in line] == names


def test_a_failed_test_of_the_dashboard_runs_again_with_its_file_and_must_pass_there(tmp_path: Path) -> None:
    stage = VitestStage("dashboard", ("vitest", "run"), 60)
    tests = [{"status": "passed", "fullName": "a"}, {"status": "failed", "fullName": "b", "failureMessages": ["not 1"]}]
    first = {"name": "/web/a.test.ts", "status": "failed", "message": "", "assertionResults": tests}
    second = {"name": "/web/b.test.ts", "status": "failed", "message": "no module", "assertionResults": []}
    report(tmp_path, first, second)
    failures = stage.failures(tmp_path)
    assert [failure.test for failure in failures] == ["/web/a.test.ts > b", "/web/b.test.ts"]
    assert [failure.output for failure in failures] == ["not 1", "no module"]
    assert stage.again(failures[0].test, tmp_path)[-1] == "/web/a.test.ts"
    assert not stage.has_passed(failures[0].test, tmp_path)
    report(tmp_path, first | {"assertionResults": [{"status": "skipped", "fullName": "b"}]})
    assert not stage.has_passed(failures[0].test, tmp_path)
    report(tmp_path, first | {"assertionResults": [{"status": "passed", "fullName": "b"}]})
    assert stage.has_passed(failures[0].test, tmp_path)
    assert stage.explains(1, "")
    assert not stage.explains(1, "Unhandled Errors: Unhandled Error of no test")


def report(folder: Path, *files: dict[str, object]) -> None:
    (folder / "vitest.json").write_text(json.dumps({"testResults": files}))
