"""What a model is asked for: hypothetical traces, and paraphrases.

The instruction comes first and the question last, so that all prompts of a kind share a long beginning that
the engine computes once. Any change of wording must change VERSION: it is part of the cache's key.
"""

from __future__ import annotations

from sqe_fast.generate.base import Message, Request

__all__ = ["VERSION", "paraphrase_request", "trace_request"]

VERSION = "1"

_TRACE = """\
You imagine one step that a coding agent took in the past. The agent works in a terminal on a software \
repository: it searches, reads and edits files, and runs commands and tests. Its memory stores each step as \
text of this form:

[THOUGHT] one or two sentences on what it wanted to find out or change, and why
[ACTION] tool: the exact command or edit
[OBSERVATION] a few lines of output as the tool would have printed it

You are given a question that somebody asks about that memory. Write the one stored step that would answer \
it best. Invent plausible names: files, functions, flags, error messages, in the words a terminal shows, \
since the step will be looked up by them. Keep it under 150 words. Write the step alone, beginning with \
[THOUGHT], with nothing before or after it.

Question: {question}"""

_PARAPHRASE = """\
You help to search the memory of a coding agent: past steps with their commands, file names, error messages \
and outputs. You are given a question about that memory. Say the same thing in {wish}. Keep the meaning and \
every given name. Choose words that the first wording does not use, such as the technical terms that a log, \
a command or a code comment would hold. One sentence each.

Answer with a numbered list of exactly {count} and nothing else:
1. first wording{more}

Question: {question}"""


def trace_request(
    question: str, count: int, temperature: float, max_new_tokens: int, seed: int | None
) -> Request:
    """Ask for `count` hypothetical traces as samples of one prompt."""
    return Request(
        (Message("user", _TRACE.format(question=question)),),
        n=count,
        temperature=temperature,
        max_new_tokens=max_new_tokens,
        seed=seed,
        question=question,
        kind="traces",
    )


def paraphrase_request(
    question: str, count: int, temperature: float, max_new_tokens: int, seed: int | None
) -> Request:
    """Ask for `count` paraphrases as one numbered list."""
    wish = "one other wording" if count == 1 else f"{count} other wordings, each different from the rest"
    more = "" if count == 1 else "\n2. second wording" + ("\n..." if count > 2 else "")
    text = _PARAPHRASE.format(question=question, count=count, wish=wish, more=more)
    return Request(
        (Message("user", text),),
        temperature=temperature,
        max_new_tokens=max_new_tokens,
        seed=seed,
        question=question,
        kind="paraphrases",
    )
