"""The package as a whole: what importing it costs, its examples, its typed stub."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sqe_fast
from sqe_fast import _core

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {
    "torch",
    "faiss",
    "vllm",
    "transformers",
    "pandas",
    "scipy",
    "sklearn",
    "datasets",
    "pyarrow",
    "openai",
}


def python(script):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("module", "needed"),
    [
        ("sqe_fast", {"sqe_fast"}),
        ("sqe_fast.bm25", {"sqe_fast", "numpy"}),
        ("sqe_fast.fusion", {"sqe_fast", "numpy"}),
        ("sqe_fast.stats", {"sqe_fast", "numpy"}),
        ("sqe_fast.text", {"sqe_fast", "numpy"}),
    ],
)
def test_importing_pulls_in_no_more_than_it_needs(module, needed):
    """What keeps the import short: a library more would be seen here, whatever the machine is doing."""
    script = "import sys; before = set(sys.modules); import {}; print(*set(sys.modules) - before)"
    loaded = {name.partition(".")[0] for name in python(script.format(module)).split()}
    assert loaded - sys.stdlib_module_names - {"__mp_main__"} <= needed


def modules_with_examples():
    for found in pkgutil.walk_packages(sqe_fast.__path__, "sqe_fast."):
        path = ROOT.joinpath(*found.name.split("."))
        path = path / "__init__.py" if found.ispkg else path.with_suffix(".py")
        if not path.exists():
            continue  # the compiled core
        source = path.read_text(encoding="utf-8")
        imports = re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE)
        if ">>> " in source and not HEAVY & set(imports):
            yield found.name


@pytest.mark.parametrize("name", list(modules_with_examples()))
def test_examples_in_docstrings(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried
    assert not failed


def stub_of(body):
    """Return the names that a body of the stub declares for the core's users, with their declarations."""
    names = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = [node]
    return names


STUB = stub_of(ast.parse((ROOT / "sqe_fast" / "_core.pyi").read_text(encoding="utf-8")).body)


def public(namespace):
    return {name for name in vars(namespace) if not name.startswith("_")}


def test_the_stub_names_what_the_core_has():
    assert set(STUB) == public(_core)
    for name, declared in STUB.items():
        if isinstance(declared[0], ast.ClassDef):
            assert set(stub_of(declared[0].body)) == public(getattr(_core, name))


def functions():
    for name, declared in STUB.items():
        if isinstance(declared[0], ast.FunctionDef):
            yield name, getattr(_core, name), declared
        elif isinstance(declared[0], ast.ClassDef):
            for method, nodes in stub_of(declared[0].body).items():
                yield f"{name}.{method}", getattr(getattr(_core, name), method), nodes


@pytest.mark.parametrize(("name", "function", "declared"), [pytest.param(*f, id=f[0]) for f in functions()])
def test_the_stub_has_the_cores_arguments(name, function, declared):
    """A function of the C API has a signature; pybind11 writes that of each overload into the docstring."""
    if getattr(function, "__text_signature__", None):
        wanted = {tuple(inspect.signature(function).parameters)}
    else:
        signature = re.compile(rf"(?:\d\. )?{name.split('.')[-1]}\((?!\*args)")
        lines = filter(signature.match, function.__doc__.splitlines())
        wanted = {tuple(re.findall(r"[(,] ?(\w+): ", line)) for line in lines}
    assert wanted == {tuple(argument.arg for argument in node.args.args) for node in declared}
