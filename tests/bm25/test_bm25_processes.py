"""Threads of Python, forked processes, pickling."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from sqe_fast.bm25 import BM25Index
from tests.bm25 import corpora

ROOT = Path(__file__).resolve().parents[2]


def test_a_forked_process_searches_adds_and_saves(tmp_path):
    """The pool's threads do not come along into a child; it starts its own."""
    texts = corpora.zipf_texts(2000, seed=13)
    queries = corpora.queries_of(texts, 8, 100)
    index = corpora.build_in_blocks(texts, 300, threads=2)
    wanted = index.search(queries, threads=3)  # starts the pool

    def child(sender):
        hits = index.search(queries, threads=3)
        index.add(texts[:100], threads=2)
        index.save(tmp_path / "index")
        sender.send((hits.ids, hits.scores, len(index)))

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forking beside threads
        process = context.Process(target=child, args=(sender,))
        process.start()
    assert receiver.poll(60), "the child does not answer"
    ids, scores, n_docs = receiver.recv()
    process.join(60)
    assert process.exitcode == 0
    np.testing.assert_array_equal(ids, wanted.ids)
    np.testing.assert_array_equal(scores, wanted.scores)
    assert (n_docs, len(index), len(BM25Index.load(tmp_path / "index"))) == (2100, 2000, 2100)
    corpora.same_results(index, index, queries)


def test_many_threads_search_build_and_load_at_once(tmp_path):
    texts = corpora.zipf_texts(600, seed=14)
    queries = corpora.queries_of(texts, 8, 70)
    index = corpora.build_in_blocks(texts, 100)
    index.save(tmp_path / "index")
    wanted = index.search(queries, threads=1)
    errors = []

    def work(number):
        try:
            for _ in range(5):
                other = [
                    lambda: index,
                    lambda: BM25Index.load(tmp_path / "index", threads=3),
                    lambda: BM25Index.build(texts, threads=4),
                ][number % 3]()
                hits = other.search(queries, threads=1 + number % 4)
                np.testing.assert_array_equal(hits.ids, wanted.ids)
                np.testing.assert_array_equal(hits.scores, wanted.scores)
        except BaseException as error:  # handed to the test's own thread
            errors.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors


def test_the_number_of_threads_may_come_from_the_environment():
    script = (
        "from sqe_fast.bm25 import BM25Index\n"
        "from sqe_fast.errors import InvalidInputError\n"
        "import os\n"
        "index = BM25Index.build(['a b'] * 3000)\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        "index.search(['a'] * 1000)\n"
        "print(len(os.listdir('/proc/self/task')) - 1)\n"
        "os.environ['SQE_FAST_THREADS'] = 'many'\n"
        "try:\n    index.search(['a'])\n"
        "except InvalidInputError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "SQE_FAST_THREADS": "3", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    environment["OPENBLAS_NUM_THREADS"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    workers, message = done.stdout.splitlines()
    assert workers == "2"
    assert "SQE_FAST_THREADS must be a whole number from 1 to 1024; got 'many'" in message


def test_an_index_is_not_pickled_by_accident():
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(BM25Index.build(["a"]))
