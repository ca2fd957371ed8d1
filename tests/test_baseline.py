"""One module for all x86-64 machines: shown by its instructions, and by running on an emulated old one."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sqe_fast import _core

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / "tools" / "check_isa.py"

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are of x86-64")


def check_isa(folder):
    result = subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True, check=False)
    if result.returncode == 2:
        pytest.skip(result.stderr.strip())
    return result


def test_only_kernels_of_a_level_hold_its_instructions():
    folders = sorted(ROOT.glob("build/temp.*/cmake"), key=lambda folder: folder.stat().st_mtime)
    if not folders:
        pytest.skip("no CMake build folder in build/: an editable install leaves one")
    result = check_isa(folders[-1])
    assert result.returncode == 0, result.stdout


BAD = {
    "an instruction in a baseline object": (
        "sqe_core.dir",
        "-mavx2",
        "void f(float* a) { for (int i = 0; i < 64; ++i) a[i] *= 2; }",
    ),
    "a weak symbol": (
        "sqe_simd_avx2.dir",
        "-mavx2",
        "inline int g(int a) { return a + 1; } int (*f())(int) { return g; }",
    ),
    "a start": ("sqe_simd_avx512.dir", "-mavx512f", "int g(); int f = g();"),
}


@pytest.mark.parametrize("kind", BAD)
def test_the_check_sees(kind, tmp_path):
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("no C++ compiler")
    folder, level, source = BAD[kind]
    fine = "float f(float a) { return a + 1; }"
    sources = {
        "sqe_core.dir/x": fine,
        "sqe_simd_avx2.dir/y": fine,
        "sqe_simd_avx512.dir/z": fine,
        f"{folder}/bad": source,
    }
    for name, text in sources.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        flag = level if name.startswith(folder) else "-mavx" if "simd" in name else "-msse4.2"
        command = [compiler, "-O3", flag, "-c", "-x", "c++", "-", "-o", f"{path}.o"]
        subprocess.run(command, input=text, text=True, check=True)
    result = check_isa(tmp_path)
    assert result.returncode == 1
    assert "problem: " in result.stdout


# Prints a digest of what every kernel gives; run on this machine at each level and on an emulated old one.
EVERY_KERNEL = """
import hashlib, random, sys
import numpy as np
from sqe_fast import _core
from sqe_fast.bm25 import BM25Index
from sqe_fast.fusion import fuse_rows, fuse_scores, merge_topk, rrf
from sqe_fast.stats import paired_bootstrap, sign_flip
from sqe_fast.text import tokenize

if len(sys.argv) > 1:
    _core.set_isa(sys.argv[1])
random.seed(1)
words = ["getUserName", "max_len2", "isn't", "3.14", "straße", "ΟΔΟΣ", "数据", *(f"w{i}" for i in range(200))]
texts = [" ".join(random.choices(words, k=12)) for _ in range(2000)]
digest = hashlib.sha256()
for tokenizer in ("whitespace", "code", "word"):
    for text in texts[:300]:
        digest.update(repr(tokenize(text, tokenizer)).encode())
    for variant in ("okapi", "lucene"):
        index = BM25Index.build(texts, tokenizer, variant, threads=2)
        index.delete(range(0, 2000, 7))
        hits = index.search([" ".join(random.Random(i).choices(words, k=3 + i)) for i in range(30)], k=20)
        digest.update(hits.ids.tobytes() + hits.scores.tobytes())
rng = np.random.default_rng(1)
ids = rng.integers(-1, 50, (20, 4, 30), dtype=np.int32)
scores = rng.normal(size=ids.shape).astype(np.float32)
for hits in (rrf(ids), fuse_scores(ids, scores), fuse_rows(scores, k=10), merge_topk(ids, scores, 10)):
    digest.update(hits.ids.tobytes() + hits.scores.tobytes())
deltas = rng.integers(-1, 2, 500)
for numbers in (deltas, deltas * 0.5, rng.integers(-128, 128, 500)):
    digest.update(repr(paired_bootstrap(numbers, 500)).encode() + repr(sign_flip(numbers, 500)).encode())
print(_core.isa_levels()[-1], digest.hexdigest())
"""


def run_kernels(*command, env):
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


@pytest.mark.slow
def test_an_old_machine_gives_the_same_bits():
    emulator = shutil.which("qemu-x86_64")
    if not emulator:
        pytest.skip("qemu-x86_64 not found: apt-get install qemu-user")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop("SQE_FAST_ISA", None)
    script = (sys.executable, "-c", EVERY_KERNEL)
    # Nehalem (2008) is what x86-64-v2 describes; the emulator refuses what it lacks.
    best, digest = run_kernels(emulator, "-cpu", "Nehalem", *script, env=env)
    assert best == "baseline"
    for level in _core.isa_levels():
        assert run_kernels(*script, level, env=env)[1] == digest
