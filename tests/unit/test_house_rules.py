"""Rules worth repeating in review, as checks (style rule 12). Each failure names the file and line, and what to do instead."""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "ledger", "consumers", "ops")
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
TESTS = sorted((ROOT / "tests").rglob("*.py"))

FILE_LINES_MAX = 500
"""Past this a file is about more than one thing. Aim for 100."""

FUNCTION_LINES_MAX = 80
TEST_FUNCTION_LINES_MAX = 120
"""Past this a function cannot be read in one look. Aim for 10. Tests may list cases and records a little longer."""

CORE = (
    "ledger/facts/",
    "ledger/rules/",
    "ledger/decide/",
    "ledger/evolve/",
    "ledger/state.py",
    "ledger/recorded.py",
    "ledger/rows.py",
    "ledger/errors.py",
    "ledger/fold.py",
    "ledger/grounding.py",
    "ledger/lookup.py",
    "ledger/measurement.py",
    "ledger/masking.py",
    "ledger/masking/families.py",
    "ledger/masking/contexts.py",
    "schemas/",
)
"""What decides, and so must give the same answer everywhere (P2)."""

CORE_IMPORTS = frozenset(
    [
        "__future__",
        "abc",
        "array",
        "bisect",
        "collections",
        "contextlib",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "hashlib",
        "heapq",
        "importlib.resources",
        "inspect",
        "itertools",
        "json",
        "math",
        "operator",
        "re",
        "string",
        "struct",
        "tomllib",
        "types",
        "typing",
        "msgspec",
    ]
)
"""What the core may import beside itself and `schemas`: nothing that knows a clock, chance, the machine or the network."""

LOOKS_AROUND = re.compile(
    r"\b(?:datetime|date)\.(?:now|today|utcnow)\(|\btime\.(?:time|monotonic|perf_counter)|\bos\.environ|\bgetenv\(|\buuid[14]\("
    r"|\brandom\.|\blocale\.|(?<![.\w])(?:open|input|print|hash)\("
)


def is_core(path: Path) -> bool:
    return path.relative_to(ROOT).as_posix().startswith(CORE)


CORE_SOURCES = [path for path in SOURCES if is_core(path)]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def place(path: Path, line: int = 1) -> str:
    return f"{path.relative_to(ROOT).as_posix()}:{line}"


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of every module that the file imports, names taken from a package included."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{place(path, node.lineno)}: import by full name"
            yield node.lineno, node.module or ""
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def code_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with comments and strings blanked out."""
    lines = path.read_text("utf-8").splitlines()
    with path.open("rb") as file:
        for token in reversed([*tokenize.tokenize(file.readline)]):
            if token.type not in {tokenize.COMMENT, tokenize.STRING}:
                continue
            for line in range(token.start[0], token.end[0] + 1):
                first = token.start[1] if line == token.start[0] else 0
                last = token.end[1] if line == token.end[0] else len(lines[line - 1])
                lines[line - 1] = lines[line - 1][:first] + lines[line - 1][last:]
    return iter(enumerate(lines, 1))


def none(found: Iterable[str], advice: str) -> None:
    """Fails with every finding on a line of its own, and what to do about them."""
    lines = sorted(found)
    if lines:
        pytest.fail("\n".join([f"{advice}:", *lines]), pytrace=False)


def test_house_files_stay_readable() -> None:
    counts = {path: len(path.read_bytes().splitlines()) for path in SOURCES + TESTS}
    long = [f"{place(path)} {count} lines" for path, count in counts.items() if count > FILE_LINES_MAX]
    none(long, f"files over {FILE_LINES_MAX} lines; split them by purpose")


def test_house_functions_stay_readable() -> None:
    long = []
    for path in SOURCES + TESTS:
        limit = TEST_FUNCTION_LINES_MAX if path in TESTS else FUNCTION_LINES_MAX
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                lines = node.end_lineno - node.lineno + 1
                long += [f"{place(path, node.lineno)} {node.name}, {lines} lines"] if lines > limit else []
    none(long, f"functions over {FUNCTION_LINES_MAX} lines, or {TEST_FUNCTION_LINES_MAX} in tests")


def test_house_nothing_is_left_to_do_later() -> None:
    later = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
    found = [
        place(path, number)
        for path in SOURCES + TESTS
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if later.search(line)
    ]
    none(found, "finish it, or write down in the README what is missing")


def test_house_every_exemption_names_its_code() -> None:
    blanket = re.compile(r"#\s*(?:type:\s*ignore(?!\[)|noqa(?!:\s*[A-Z]))")
    found = [
        place(path, number)
        for path in SOURCES + TESTS
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if blanket.search(line)
    ]
    none(found, "write `type: ignore[code]` and `noqa: CODE`")


def test_house_every_module_says_what_it_is_for() -> None:
    silent = [place(path) for path in SOURCES if not ast.get_docstring(tree(path))]
    none(silent, "give these modules a docstring")


@pytest.mark.parametrize("package", PACKAGES)
def test_house_packages_are_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_house_module_names_hide_nobody_elses() -> None:
    """`http.py` beside a script hides the standard library's; so would a package named like a dependency."""
    others = sys.stdlib_module_names | (packages_distributions().keys() - {*PACKAGES, "tests"})
    tops = {
        path.stem if path.is_file() else path.name for path in ROOT.iterdir() if path.suffix == ".py" or path.name in PACKAGES
    }
    hidden = [place(path) for path in SOURCES if path.stem in sys.stdlib_module_names and path.stem != "__init__"]
    none(hidden, "choose a name that the standard library does not have")
    assert not tops & others


def test_house_nothing_imports_tests() -> None:
    found = [place(path, line) for path in SOURCES for line, name in imports(path) if name.split(".")[0] == "tests"]
    none(found, "the packages stand without their tests")


def test_house_only_the_wiring_names_an_adapter() -> None:
    """Consumers and surfaces get a log; which one it is, is decided in one place."""
    found = [
        place(path, line)
        for path in SOURCES
        if path.relative_to(ROOT).as_posix() != "ops/wiring.py" and "adapters" not in path.parts
        for line, name in imports(path)
        if name.startswith("ledger.adapters")
    ]
    none(found, "take the log from ops.wiring")


def test_house_core_imports_nothing_that_looks_around() -> None:
    """P2: the fold reads no clock, no environment, no randomness, no locale."""
    own = tuple(entry.removesuffix(".py").rstrip("/").replace("/", ".") for entry in CORE)
    found = []
    for path in CORE_SOURCES:
        for line, name in imports(path):
            allowed = any(name == module or name.startswith(module + ".") for module in CORE_IMPORTS)
            inside = any(name == module or name.startswith(module + ".") for module in own)
            if not allowed and not inside and name not in {"importlib", "ledger"}:
                found.append(f"{place(path, line)}: {name}")
    none(found, "hand it in as an argument instead")


def test_house_core_calls_nothing_that_looks_around() -> None:
    """P2, for what slips in through a permitted module."""
    found = [
        f"{place(path, number)}: {line.strip()}"
        for path in CORE_SOURCES
        for number, line in code_lines(path)
        if LOOKS_AROUND.search(line)
    ]
    none(found, "time, ids and state arrive as arguments")


def test_house_core_walks_over_no_unordered_set() -> None:
    """P2: the order of a set of strings differs from process to process."""

    def unordered(node: ast.expr) -> bool:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.func.id in {"set", "frozenset"}
        return isinstance(node, ast.Set | ast.SetComp)

    found = []
    for path in CORE_SOURCES:
        for node in ast.walk(tree(path)):
            into_set = isinstance(node, ast.SetComp)
            generators = getattr(node, "generators", []) if not into_set else []
            walked = [node.iter] if isinstance(node, ast.For) else [generator.iter for generator in generators]
            found += [place(path, expression.lineno) for expression in walked if unordered(expression)]
    none(found, "sort it, or use dict.fromkeys")


def test_house_core_patterns_do_not_ask_the_interpreter_for_unicode() -> None:
    r"""P2: `\w`, `\d`, `\b` and case folding mean what this interpreter's tables say, unless a pattern is ASCII.

    White space, `\s`, is let through: Unicode has not changed it since 6.3, which every supported interpreter is past.
    """
    classes = re.compile(r"(?<!\\)(?:\\\\)*\\[wWdDbB]")
    found = []
    for path in CORE_SOURCES:
        for node in ast.walk(tree(path)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.args):
                continue
            pattern = "".join(
                part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
            flags = " ".join(ast.unparse(argument) for argument in [*node.args[1:], *(word.value for word in node.keywords)])
            ascii_only = re.search(r"\bre\.A(?:SCII)?\b", flags) or "(?a" in pattern
            folds = re.search(r"\bre\.I(?:GNORECASE)?\b", flags) or "(?i" in pattern
            is_bytes = any(isinstance(part, ast.Constant) and isinstance(part.value, bytes) for part in ast.walk(node.args[0]))
            if (classes.search(pattern) or folds) and not ascii_only and not is_bytes:
                found.append(place(path, node.lineno))
    none(found, "add re.ASCII and name the ranges that are meant")
