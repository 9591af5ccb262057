"""The time split in real programs: what it measures, and that it breaks none."""

import ast
import sys
from pathlib import Path

import pytest

from contract.folder.events import Points, event_reader
from contract.folder.rank_times import RankTimes, read_rank_times
from tests.testing.program_ranks import ROOT, run_ranks

INJECTED = sorted((ROOT / "bigbatch" / "injected").rglob("*.py"))
TRAIN = """
import os, sys, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

if "RANK" in os.environ and int(os.environ["WORLD_SIZE"]) > 1:
    dist.init_process_group("gloo")
rank = int(os.environ["RANK"])
model = torch.nn.Linear(64, 8)
if dist.is_initialized():
    model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, in DataLoader(TensorDataset(torch.randn(40, 64)), batch_size=2):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    time.sleep(SLEEPS[rank])
    loss.backward()
    optimizer.step()
assert loss.isfinite()
print("trained")
"""


def script(folder: Path, text: str) -> Path:
    path = folder / "train.py"
    path.write_text(text)
    return path


def times_of(folder: Path) -> RankTimes:
    times = read_rank_times(folder, "times.csv")
    assert times is not None
    return times


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.mark.ring("all")
def test_the_slow_rank_of_a_script_is_named_and_the_other_rank_is_idle(tmp_path: Path, folder: Path) -> None:
    run_ranks(folder, script(tmp_path, TRAIN.replace("SLEEPS", "[0.0, 0.1]")), world=2)
    fast, slow = (rank.seconds for rank in times_of(folder).ranks)
    assert slow["compute_s"] > 0.1
    assert fast["idle_s"] > 0.05 > slow["idle_s"]
    events = [event_reader.validate_json(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    values = [event.values for event in events if isinstance(event, Points)]
    assert values
    assert {value["slowest_rank"] for value in values} == {1}
    assert (folder / "times" / "rank-1.csv").read_text().count("\n") > 5


@pytest.mark.ring("all")
def test_a_single_process_has_a_time_split_too(tmp_path: Path, folder: Path) -> None:
    slow_input = TRAIN.replace("SLEEPS", "[0.0]").replace("TensorDataset(torch.randn(40, 64))", "Slow()")
    slow_input = slow_input.replace(
        "rank =",
        "class Slow(list):\n    __len__ = lambda self: 40\n    def __getitem__(self, n):\n"
        "        time.sleep(0.02)\n        return (torch.randn(64),)\nrank =",
        1,
    )
    run_ranks(folder, script(tmp_path, slow_input), world=1)
    (rank,) = times_of(folder).ranks
    assert rank.seconds["input_s"] > 0.04
    assert rank.seconds["communication_s"] == 0


@pytest.mark.ring("all")
def test_without_the_variable_nothing_is_measured(tmp_path: Path, folder: Path) -> None:
    run_ranks(folder, script(tmp_path, TRAIN.replace("SLEEPS", "[0.0]")), world=1, BIGBATCH_TIME_SPLIT="0")
    assert not (folder / "times.csv").exists()
    assert not (folder / "events.jsonl").exists()


@pytest.mark.ring("all")
def test_a_run_folder_that_refuses_every_file_breaks_no_program(tmp_path: Path, folder: Path) -> None:
    """The disk is full: /dev/full takes no byte, and a file in a folder's place takes no file."""
    folder.mkdir()
    (folder / "times").write_text("no folder")
    (folder / "events.jsonl").symlink_to("/dev/full")
    (folder / "times.csv").symlink_to("/dev/full")
    (output,) = run_ranks(folder, script(tmp_path, TRAIN.replace("SLEEPS", "[0.1]")), world=1)
    assert output == "trained\n"


def test_a_program_without_torch_runs_as_before(tmp_path: Path, folder: Path) -> None:
    text = "import sys; print('torch' in sys.modules, 'bigbatch.injected.torch_calls' in sys.modules)"
    assert run_ranks(folder, script(tmp_path, text), world=1)[0].startswith("False")


def test_the_sites_own_sitecustomize_runs_too(tmp_path: Path, folder: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import os; os.environ['SITE'] = 'loaded'")
    text = "import os, sys; print(os.environ['SITE'])"
    tools = tmp_path / "tools"
    path = ":".join([str(tools), str(site), str(ROOT)])
    assert run_ranks(folder, script(tmp_path, text), world=1, PYTHONPATH=path) == ["loaded\n"]


@pytest.mark.ring("all")
def test_a_broken_sitecustomize_of_the_site_breaks_nothing(tmp_path: Path, folder: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import missing_module")
    path = ":".join([str(tmp_path / "tools"), str(site), str(ROOT)])
    run_ranks(folder, script(tmp_path, TRAIN.replace("SLEEPS", "[0.05]")), world=1, PYTHONPATH=path)
    assert times_of(folder).ranks


@pytest.mark.ring("all")
def test_a_child_process_of_a_rank_is_not_taken_for_the_rank(tmp_path: Path, folder: Path) -> None:
    """A rank starts a second program that trains, as a script that evaluates by a subprocess does."""
    text = TRAIN.replace("SLEEPS", "[0.05]") + (
        "\nimport subprocess\nif len(sys.argv) == 1:\n"
        "    subprocess.run([sys.executable, __file__, 'child'], check=True)\n"
    )
    run_ranks(folder, script(tmp_path, text), world=1)
    last = (folder / "times" / "rank-0.csv").read_text().splitlines()[-1]
    assert last.split(",")[2] == "20"


@pytest.mark.ring("all")
def test_forked_ranks_of_a_launcher_that_has_loaded_torch_are_timed(tmp_path: Path, folder: Path) -> None:
    text = (
        "import os, torch, torch.multiprocessing as mp, torch.distributed as dist, time\n"
        "def main(rank):\n"
        "    dist.init_process_group('gloo', rank=rank, world_size=2)\n"
        "    w = torch.nn.Parameter(torch.zeros(9)); o = torch.optim.SGD([w], lr=0.1)\n"
        "    for _ in range(10):\n"
        "        w.sum().backward(); time.sleep(0.02); dist.all_reduce(w.grad); o.step()\n"
        "    dist.destroy_process_group()\n"
        "    table = os.path.join(os.environ['BIGBATCH_RUN_FOLDER'], 'times', 'rank-1.csv')\n"
        "    while rank == 0 and not os.path.exists(table): time.sleep(0.01)\n"
        "if __name__ == '__main__':\n"
        "    mp.start_processes(main, nprocs=2, start_method='fork')\n"
    )
    run_ranks(folder, script(tmp_path, text), world=1)
    assert [rank.rank for rank in times_of(folder).ranks] == [0, 1]


@pytest.mark.parametrize("path", INJECTED, ids=lambda path: path.name)
def test_a_file_runs_on_python_3_9_with_the_standard_library_alone(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
    assert not {name for name in modules if name.split(".")[0] not in sys.stdlib_module_names} - {
        name for name in modules if name.startswith("bigbatch.injected.")
    }
    has_annotations = any(isinstance(node, ast.arg | ast.AnnAssign) for node in ast.walk(tree))
    if has_annotations and path.name != "sitecustomize.py":
        assert "__future__" in modules, "Python 3.9 cannot evaluate the annotation `X | None`"
