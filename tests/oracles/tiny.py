"""Small models of true architecture with random weights, saved as real ones are."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    DistilBertConfig,
    DistilBertModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaModel,
)

_TEXT = [
    "where is the retry limit set in the client",
    "[THOUGHT] look for the failing test [ACTION] bash: python -m pytest -x tests/test_io.py",
    "[OBSERVATION] 1 failed, 12 passed ValueError: invalid literal for int() with base 10",
    "query: passage: def load(path): return json.loads(path.read_text()) 日本語 naïve",
]


def _tokenizer(specials, template):
    core = Tokenizer(models.BPE(unk_token=None))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core.train_from_iterator(
        _TEXT, trainers.BpeTrainer(vocab_size=400, special_tokens=specials, initial_alphabet=alphabet)
    )
    if template:
        pairs = [(token, core.token_to_id(token)) for token in ("<s>", "</s>")]
        core.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=pairs)
    return core


def encoder_folder(folder, kind="xlm-roberta"):
    """Save a two-layer XLM-RoBERTa (or DistilBERT) with its tokenizer in `folder`."""
    core = _tokenizer(["<s>", "<pad>", "</s>", "<unk>"], template=True)
    PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(folder)
    torch.manual_seed(7)
    if kind == "xlm-roberta":
        config = XLMRobertaConfig(
            vocab_size=core.get_vocab_size(), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=64, max_position_embeddings=130, pad_token_id=1, type_vocab_size=1,
            initializer_range=0.3,
        )  # fmt: skip
        XLMRobertaModel(config).save_pretrained(folder)
    else:
        config = DistilBertConfig(
            vocab_size=core.get_vocab_size(), dim=32, n_layers=2, n_heads=4, hidden_dim=64,
            max_position_embeddings=130, pad_token_id=1, initializer_range=0.3,
        )  # fmt: skip
        DistilBertModel(config).save_pretrained(folder)
    return folder


def llama_folder(folder):
    """Save a two-layer Llama with a chat template that has a thinking switch."""
    core = _tokenizer(["<s>", "<pad>", "</s>", "<unk>"], template=False)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )
    tokenizer.chat_template = (
        "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}</s>{% endfor %}"
        "{% if enable_thinking is not defined or enable_thinking %}<think>{% endif %}"
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=core.get_vocab_size(), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=64, max_position_embeddings=256, bos_token_id=0,
        eos_token_id=2, pad_token_id=1, initializer_range=0.3,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder
