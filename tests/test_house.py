"""The house: who may import whom, and that everything is documented."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from contract.settings import Settings
from contract.spec.expanded import read_experiment
from contract.spec.program.environment import Environment
from contract.spec.program.run import ProgramSpec
from contract.spec.run import RunSpec
from contract.yaml_reader import read_document
from tests.testing.import_circles import circles, imports_within, of_folders

pytestmark = pytest.mark.ring("quick")

HOUSE = Path(__file__).parents[1]
WEB = {"fastapi", "starlette", "uvicorn", "h11", "anyio"}
FRAMEWORK = {"fastapi", "starlette"}
KNOW_HTTP = {"api", "benchmarks", "tests"}
PLANS = {
    "trainers.collectives.layout",
    "trainers.collectives.plan",
    "trainers.collectives.plans",
    "trainers.collectives.plans.blocks",
    "trainers.collectives.plans.catalog",
    "trainers.collectives.pricing.network",
    "trainers.collectives.pricing.price",
    "trainers.collectives.pricing.size_classes",
    "trainers.kfac_price",
    "trainers.layer_shapes",
    "trainers.plans",
    "trainers.tensor.calls",
    "trainers.tensor.price",
}
PLACEHOLDERS = {"agent.program.placeholders", "agent.program.shell_line", "agent.program.shell_places"}
EVENT_FILES = {"agent.sources.records", "agent.sources.summaries"}
BENCH = {"torch", "numpy"}  # the workbench takes plain arguments and could be copied into a notebook
MAY_IMPORT = {
    # the agent fills a command, which the contract checks
    "contract": {"runfiles", "pydantic", "pydantic_core", "pydantic_settings", "yaml", *PLACEHOLDERS},
    "store": {"contract", "sqlalchemy", "pydantic", "numpy", "fsspec"},  # fsspec: decision 52
    "store/tables": {"contract", "store.clock", "sqlalchemy", "pydantic"},  # no logic of the store: decision 67
    "migrations": {"contract", "store", "alembic", "sqlalchemy"},
    # plans: decision 6; study: decision 37
    "api": {
        *("contract", "orders", "store", "study", "sqlalchemy", "pydantic", "lark", "markdown_it", "prometheus_client"),
        *(*WEB, *PLANS),
    },
    "orders": {"contract", "store", "sqlalchemy", "pydantic"},  # decision 64
    # study: decision 44
    "scheduler": {
        "contract",
        "orders",
        "store",
        "study",
        "sqlalchemy",
        "pydantic",
        "celery",
        "httpcore",
        "kombu",
        "submitit",
        "psutil",
        "tensorboardX",  # decision 57
    },
    "study": {"contract", "cronsim", "optuna"},
    # the readers of event files: decision 41
    "bigbatch": {"contract", "study", "httpx", "typer", "rich", "psutil", "pydantic", *EVENT_FILES, *PLACEHOLDERS},
    "bigbatch/injected": set(),  # runs in the user's own environment
    # the recorder of a node's metrics: decision 49
    "trainers": {"contract", "runfiles", "torch", "numpy", "pydantic", "agent.system.recorder"},
    "trainers/checkpoints": BENCH,
    "trainers/collectives": {*BENCH, "runfiles"},
    "trainers/generators": BENCH,
    "trainers/replicas": BENCH,
    "trainers/rules": {*BENCH, "runfiles"},  # the address of the host: decision 65
    "trainers/preconditioners": BENCH,
    "trainers/optimizers": BENCH,
    "trainers/schedules": BENCH,
    "trainers/losses": BENCH,
    "trainers/models": BENCH,
    "trainers/tasks": BENCH,
    "trainers/own_metrics": BENCH,
    "trainers/tensor": BENCH,
    # a program, which logs as every program does: decision 54
    "trainers/volume": {
        *("contract", *BENCH, "scipy", "tensorstore", "zarr", "bigbatch", "trainers.build.models"),
        "trainers.recovery.initial_weights",
    },
    "trainers/data": {*BENCH, "PIL", "simplejpeg"},
    "trainers/data/dedup": {*BENCH, "PIL", "contract.spec.dedup.options"},  # the choices and defaults of a spec
    "trainers/data/dedup/rank": {"contract", "bigbatch"},  # a rank of a run, which logs as every program does
    "lab": set(),
    "agent": {"runfiles"},  # it runs in the user's environment
    "runfiles": set(),  # and so does this
    "bigbatch/running": {"runfiles"},  # and so does this
}
FILES = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=HOUSE, capture_output=True, text=True)
WRITTEN = [HOUSE / name for name in FILES.stdout.splitlines() if (HOUSE / name).is_file()]


def imports(source: str) -> set[str]:
    """The modules that a file imports, wherever in it; relative ones begin with dots."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def strangers(place: str, source: str) -> set[str]:
    """What a file at `place` (of the house, without its ending) imports and may not."""
    room = max((r for r in MAY_IMPORT if f"{place}/".startswith(f"{r}/")), key=len)
    allowed = MAY_IMPORT[room] | sys.stdlib_module_names
    return {name for name in imports(source) if not {name, name.split(".")[0]} & allowed and not is_own(room, name)}


def is_own(room: str, name: str) -> bool:
    """A room may import itself; a bench of the workshop may import any other bench, but not the foreman."""
    if name.startswith("."):
        return not name.startswith("..")
    top, *rest = name.split(".")
    return bool(rest) and f"{top}/{rest[0]}" in MAY_IMPORT if "/" in room else top == room


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_every_room_keeps_to_its_floor(room: str) -> None:
    paths = [*(HOUSE / room).rglob("*.py"), *HOUSE.glob(f"{room}.py")]
    assert paths, f"there is no {room}"
    for path in sorted(paths):
        place = path.relative_to(HOUSE).with_suffix("").as_posix()
        assert not strangers(place, path.read_text()), path.relative_to(HOUSE)


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("api", "import scheduler.submit.submission"),
        ("api", "from trainers.collectives.runners.allreduce import follow"),
        ("api", "from trainers.training.engine import train"),
        ("scheduler", "from api.app import create_app"),
        ("orders", "from fastapi import Request"),
        ("orders", "from api.errors import Invalid"),
        ("orders", "from study.moments import check_cron"),
        ("store", "from trainers import engine"),
        ("store", "from orders import acceptance"),
        ("store/tables", "from store.session import transaction"),
        ("store/tables", "def f():\n    from store import changes"),
        ("trainers", "import sqlalchemy"),
        ("trainers/rules", "from contract.spec.run import RunSpec"),
        ("trainers/preconditioners", "from contract.spec.run import RunSpec"),
        ("trainers/collectives", "from trainers.training.engine import train"),
        ("bigbatch", "def f():\n    from store import runs"),
        ("contract", "import torch"),
        ("runfiles", "from contract.folder.run_folder import RunFolder"),
        ("runfiles", "from agent.folder.run_folder import RunFolder"),
    ],
)
def test_a_planted_breach_is_caught(place: str, source: str) -> None:
    assert strangers(place, source)


def test_the_modules_and_the_folders_of_the_store_form_no_circle_of_imports() -> None:
    graph = imports_within(HOUSE / "store")
    assert circles(graph) == []
    assert circles(of_folders(graph)) == [], "each folder counts as one module"


def test_a_circle_that_an_import_in_a_function_hides_is_caught(tmp_path: Path) -> None:
    """Forces the fault: three files import each other in a circle, one of them in a function."""
    for name, source in {
        "runs": "from room.steps import creation",
        "steps/creation": "from room.steps.points import POINTS",
        "steps/points": "def f():\n    from room import runs",
        "__init__": "",
        "steps/__init__": "",
        "other": "import room.runs",
    }.items():
        (path := tmp_path / "room" / f"{name}.py").parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    graph = imports_within(tmp_path / "room")
    assert circles(graph) == [["room.runs", "room.steps.creation", "room.steps.points"]]
    assert circles(of_folders(graph)) == [["room.runs", "room.steps"]]


def test_only_the_api_knows_of_http_requests() -> None:
    others = [path for path in WRITTEN if path.suffix == ".py" and path.relative_to(HOUSE).parts[0] not in KNOW_HTTP]
    found = {path: {name.split(".")[0] for name in imports(path.read_text())} & FRAMEWORK for path in others}
    assert not [path.relative_to(HOUSE).as_posix() for path, names in found.items() if names]


@pytest.mark.parametrize("module", ["trainers.job", "trainers.plans", "api.app"])
def test_importing_it_leaves_torch_unloaded(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=HOUSE).returncode == 0


LIGHT = [
    *(HOUSE / "agent").rglob("*.py"),
    *(HOUSE / "runfiles").rglob("*.py"),
    *(HOUSE / "bigbatch" / "running").glob("*.py"),
    HOUSE / "bigbatch" / "__init__.py",
    HOUSE / "bigbatch" / "wandb.py",
]


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.relative_to(HOUSE).as_posix())
def test_what_runs_in_a_users_environment_has_the_syntax_of_python_3_9(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    first = next((node for node in tree.body if isinstance(node, ast.ImportFrom)), None)
    has_code = any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree.body)
    assert not has_code or (first and first.module == "__future__"), "annotations would be evaluated"
    assert not [node.lineno for node in ast.walk(tree) if _is_evaluated_union(node)]


def _is_evaluated_union(node: ast.AST) -> bool:
    """A call such as isinstance(value, int | float), which Python 3.9 cannot evaluate."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "issubclass", "cast")
        and any(isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.BitOr) for argument in node.args)
    )


def test_a_script_that_logs_loads_only_the_standard_library_and_the_light_part() -> None:
    code = (
        "import sys, bigbatch; from bigbatch import wandb; bigbatch.log(loss=1.0); bigbatch.should_pause(); "
        "bigbatch.config, bigbatch.resuming, bigbatch.finish(); wandb.log({'loss': 1.0}); "
        "tops = {name.partition('.')[0] for name in sys.modules}; "
        "print(sorted(tops - sys.stdlib_module_names - {'__main__', 'bigbatch'}))"
    )
    environment = {"PYTHONPATH": str(HOUSE)}
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_every_python_file_says_what_it_is() -> None:
    silent = [p for p in WRITTEN if p.suffix == ".py" and (s := p.read_text()) and not ast.get_docstring(ast.parse(s))]
    assert not silent


@pytest.mark.parametrize("recipe", sorted((HOUSE / "recipes").rglob("*.yaml")), ids=lambda path: path.stem)
def test_every_recipe_parses(recipe: Path) -> None:
    assert read_experiment(read_document(recipe.read_bytes())).points


def test_every_field_of_a_run_is_in_the_guide() -> None:
    guide = (HOUSE / "docs" / "guide.md").read_text()
    assert [name for name in RunSpec.model_fields if f"`{name}`" not in guide] == []


def test_every_field_of_a_program_is_in_its_reference() -> None:
    page = (HOUSE / "docs" / "programs.md").read_text()
    fields = [*ProgramSpec.model_fields, *Environment.model_fields]
    assert [name for name in fields if name != "kind" and f"`{name}`" not in page] == []


def test_every_setting_is_documented() -> None:
    guide = (HOUSE / "docs" / "settings.md").read_text()
    missing = [name for name in Settings.model_fields if f"`BIGBATCH_{name.upper()}`" not in guide]
    assert not missing


def test_every_endpoint_is_documented(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "api", "--openapi"]
    done = subprocess.run(command, cwd=HOUSE, capture_output=True, env={"BIGBATCH_HOME": str(tmp_path)}, check=True)
    guide = (HOUSE / "docs" / "api.md").read_text()
    wanted = [
        f"`{verb.upper()} {path.removeprefix('/api/v1')}`"
        for path, verbs in json.loads(done.stdout)["paths"].items()
        for verb in verbs
    ]
    assert [line for line in wanted if line not in guide] == []


def test_the_dashboards_lock_names_no_registry_and_has_a_hash_for_each_package() -> None:
    lock = HOUSE / "web" / "package-lock.json"
    assert '"resolved"' not in lock.read_text()
    packages = json.loads(lock.read_text())["packages"]
    assert [name for name, package in packages.items() if name and "integrity" not in package] == []
    assert "://" not in (HOUSE / "constraints.txt").read_text()
