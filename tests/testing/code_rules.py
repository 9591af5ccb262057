"""Rules of the code as functions of a syntax tree: each yields the lines that break the rule."""

import ast
import re
import subprocess
from collections.abc import Callable, Collection, Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parents[2]
PRODUCT = (
    *("agent", "api", "bigbatch", "contract", "lab", "migrations", "orders", "runfiles", "scheduler", "store", "study"),
    "trainers",
)
LONGEST_FUNCTION = 45
MUTATORS = "add append appendleft clear discard extend insert pop popitem remove setdefault update"
MUTABLE_CALLS = {"dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict", "WeakKeyDictionary"}
ROW_NAMES = {"row", "rows", "run", "runs", "job", "jobs"}
SENTENCE_NAMES = re.compile(r"(\w+_)?reason|message|why|waits_for")
STRING_TESTS = {"startswith", "endswith", "removeprefix", "removesuffix"}
# calls that open a file, follow links and may block
OPENERS = {"open", "fdopen", "read_text", "read_bytes", "write_text", "write_bytes", "touch", "stat", "utime"}
STARTERS = {"run", "Popen", "call", "check_call", "check_output"}
NO_ENVIRONMENT = {
    "getoutput",
    "getstatusoutput",
    "system",
    "popen",
    "execv",
    "execvp",
    "execl",
    "execlp",
    "posix_spawn",
}
Rule = Callable[[ast.Module], Iterator[int]]  # the lines that break the rule


@cache
def tracked() -> list[str]:
    """Return the files of the repository, those not yet committed too."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in names if (ROOT / name).is_file()]


@cache
def product() -> dict[str, ast.Module]:
    """Return the syntax tree of every Python file of the product."""
    names = [name for name in tracked() if name.endswith(".py") and name.split("/")[0] in PRODUCT]
    return {name: ast.parse((ROOT / name).read_text()) for name in names}


def lines(name: str) -> int:
    return (ROOT / name).read_text().count("\n")


def breaches(rule: Rule, *rooms: str) -> dict[str, str]:
    """Map each file of the rooms that breaks the rule to the first line that does."""
    found = {}
    for name, tree in product().items():
        if name.split("/")[0] in (rooms or PRODUCT) and (at := sorted(rule(tree))):
            found[name] = f"{name}:{at[0]}"
    return found


def long_functions(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno
            if node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION:
                yield node.lineno


def module_state(tree: ast.Module) -> Iterator[int]:
    """Collections bound at module level that the module changes, and `global`."""
    names = set()
    for bound in tree.body:
        if isinstance(bound, ast.Assign | ast.AnnAssign) and is_collection(bound.value):
            targets = bound.targets if isinstance(bound, ast.Assign) else [bound.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield node.lineno
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS.split():
            changed = node.func.value
        elif isinstance(node, ast.AugAssign):
            changed = node.target
        else:
            continue
        if not isinstance(node, ast.Global) and isinstance(changed, ast.Name) and changed.id in names:
            yield node.lineno


def is_collection(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):
        called = value.func
        name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
        return name in MUTABLE_CALLS
    return isinstance(value, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp)


def untyped_rows(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.arg) and node.arg in ROW_NAMES and node.annotation):
            continue
        if re.fullmatch(r"Any|(Sequence|Iterable|list)\[Any\]", ast.unparse(node.annotation)):
            yield node.lineno


def state_writes(tree: ast.Module) -> Iterator[int]:
    yield from column_writes(tree, "state")


def spec_writes(tree: ast.Module) -> Iterator[int]:
    """Yield where the spec of a stored run may be written; those of others are none."""
    yield from column_writes(tree, "spec", apart={"experiment", "search", "self"})


def column_writes(tree: ast.Module, column: str, apart: Collection[str] = ()) -> Iterator[int]:
    """Yield where an attribute, a key or a value of this name is written, without attributes of the names `apart`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found = node.attr == column and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) not in apart
        elif isinstance(node, ast.Subscript):
            found = isinstance(node.ctx, ast.Store) and is_name(node.slice, column)
        elif isinstance(node, ast.Dict):
            found = any(is_name(key, column) for key in node.keys)
        else:
            found = isinstance(node, ast.Call) and is_write(node, column)
        if found:
            assert isinstance(node, ast.expr)
            yield node.lineno


def is_name(node: ast.expr | None, column: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == column


def is_write(call: ast.Call, column: str) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "setattr":
        return any(is_name(word, column) for word in call.args)
    return name == "values" and any(keyword.arg == column for keyword in call.keywords)


def read_sentences(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn) and reads_sentence(*sides[:2]):
                yield node.lineno
        elif is_string_test(node):
            yield node.lineno


def is_string_test(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether the node is a call such as `run.reason.startswith(...)`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return False
    return node.func.attr in STRING_TESTS and reads_sentence(node.func.value, node.args[0])


def reads_sentence(one: ast.expr, other: ast.expr) -> bool:
    """Whether an attribute is held against a sentence, or an attribute that is a sentence against any text."""
    for attribute, text in ((one, other), (other, one)):
        if not isinstance(attribute, ast.Attribute):
            continue
        words = "".join(str(node.value) for node in ast.walk(text) if isinstance(node, ast.Constant))
        is_text = isinstance(text, ast.JoinedStr) or (isinstance(text, ast.Constant) and isinstance(text.value, str))
        is_constant = isinstance(text, ast.Name) and text.id.isupper()
        if is_text and " " in words.strip():
            return True
        if SENTENCE_NAMES.fullmatch(attribute.attr) and (is_constant or (is_text and words)):
            return True
    return False


def bare_opens(tree: ast.Module) -> Iterator[int]:
    """Calls that open a file by its path, such as `path.open()`, `open(path)` or `os.stat(path)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in OPENERS:
                yield node.lineno


def inherited_environments(tree: ast.Module) -> Iterator[int]:
    """Yield where a program is started with the whole environment of this process."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            owner, _, name = ast.unparse(node.func).rpartition(".")
            starts = (owner == "subprocess" and name in STARTERS) or name == "Popen"
            lacks = "env" not in {keyword.arg for keyword in node.keywords}
            if (starts and lacks) or (owner in {"os", "subprocess"} and name in NO_ENVIRONMENT):
                yield node.lineno


# what writes past the stream that shows control characters as text (bigbatch/terminal/streams.py)
PAST_THE_STREAMS = {"Console", "echo", "secho", "unchanged", "ShownStream"}


def unshown_output(tree: ast.Module) -> Iterator[int]:
    """Yield where a command reaches its terminal without the one way out, by itself or by a program that it starts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            is_below = node.attr == "buffer" and ast.unparse(node.value) in ("sys.stdout", "sys.stderr")
            if is_below or node.attr in ("__stdout__", "__stderr__"):
                yield node.lineno
        elif isinstance(node, ast.Call):
            owner, _, name = ast.unparse(node.func).rpartition(".")
            given = {keyword.arg for keyword in node.keywords}
            starts = (owner == "subprocess" and name in STARTERS) or name == "Popen"
            inherits = starts and name != "check_output" and given.isdisjoint({"stdout", "capture_output"})
            to_descriptor = (owner, name) == ("os", "write") and ast.unparse(node.args[0]) in ("1", "2")
            if inherits or to_descriptor or name in PAST_THE_STREAMS or (owner == "os" and name in NO_ENVIRONMENT):
                yield node.lineno


PICKLE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"}
# torch's object collectives unpickle what arrives; its TCPStore listens on all interfaces, without a secret
OBJECT_COLLECTIVE = re.compile(r"(all_gather|gather|broadcast|scatter|send|recv)_object(_list)?|TCPStore")


def unpickling(tree: ast.Module) -> Iterator[int]:
    """Pickles, torch's object collectives and its open store, and loads that may unpickle."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [it.name for it in node.names]
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
            is_pickle = not PICKLE_MODULES.isdisjoint(module.split(".")[0] for module in modules)
            is_found = is_pickle or any(OBJECT_COLLECTIVE.fullmatch(name) for name in names)
        elif isinstance(node, ast.Attribute):
            is_found = OBJECT_COLLECTIVE.fullmatch(node.attr) is not None
        else:
            is_found = isinstance(node, ast.Call) and may_unpickle(node)
        if is_found:
            assert isinstance(node, ast.stmt | ast.expr)
            yield node.lineno


def may_unpickle(call: ast.Call) -> bool:
    """Whether the call is `torch.load` without `weights_only=True`, or `numpy.load` with pickles."""
    keywords = {word.arg: ast.unparse(word.value) for word in call.keywords}
    name = ast.unparse(call.func)
    return (name == "torch.load" and keywords.get("weights_only") != "True") or (
        keywords.get("allow_pickle", "False") != "False"
    )
