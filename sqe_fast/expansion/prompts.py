"""What a model is asked for: hypothetical traces, paraphrases, or both in one answer.

The instruction comes first and the question last, so that all prompts of a kind share a long beginning that
the engine computes once. Any change of wording must change VERSION: it is part of the cache's key.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqe_fast.generate.base import Message, Request

__all__ = ["STEP_END", "VERSION", "Form", "joint_request", "paraphrase_request", "trace_request"]

VERSION = "1"

STEP_END = {"model": (), "step": ("\n[THOUGHT]",), "blank": ("\n[THOUGHT]", "\n\n")}
"""Texts that end a trace, by the name of the rule: the model itself; a second step; or an empty line too."""

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

_TRACE_BRIEF = """\
Imagine one past step of a coding agent that answers the question, in this form:

[THOUGHT] why
[ACTION] tool: command
[OBSERVATION] a few lines of output

Invent plausible names of files, functions and errors. Write the step alone, in under 150 words.

Question: {question}"""

_JOINT_BRIEF = """\
A question asks about past steps of a coding agent. First say it in {wish}, as a numbered list, with \
technical terms that it does not use. Then write {steps} that would answer it, with plausible names of \
files, functions and errors, under 150 words a step. Nothing else.

1. first wording{more}

[THOUGHT] why
[ACTION] tool: command
[OBSERVATION] {lines}

Question: {question}"""

_FEW = "a few lines of output"
_ALONE = "Write the step alone"
_NO_BLANKS = "Leave no line empty. "
PARAPHRASE_TOKENS = 48

_JOINT = """\
You help to search the memory of a coding agent. The memory stores each past step of the agent, which works \
in a terminal on a software repository, as text of this form:

[THOUGHT] one or two sentences on what it wanted to find out or change, and why
[ACTION] tool: the exact command or edit
[OBSERVATION] {lines} as the tool would have printed it

You are given a question about that memory. Answer in two parts and write nothing else. First say the \
question in {wish}, as a numbered list: keep its meaning and every given name, and use technical terms that \
it does not use, one sentence each. Then write {steps} that would answer it best, in the form above. Invent \
plausible names (files, functions, flags, error messages), since steps are looked up by them. Keep a step \
under 150 words, without empty lines in it, and do not number it.

1. first wording{more}

[THOUGHT] ...
[ACTION] ...
[OBSERVATION] ...

Question: {question}"""

_PARAPHRASE = """\
You help to search the memory of a coding agent: past steps with their commands, file names, error messages \
and outputs. You are given a question about that memory. Say the same thing in {wish}. Keep the meaning and \
every given name. Choose words that the first wording does not use, such as the technical terms that a log, \
a command or a code comment would hold. One sentence each.

Answer with a numbered list of exactly {count} and nothing else:
1. first wording{more}

Question: {question}"""


@dataclass(frozen=True)
class Form:
    """What a trace may look like.

    Attributes
    ----------
    after : int
        Traces that the question has already; with a seed, the new ones are drawn with another.
    end : str
        A name of `STEP_END`.
    lines : int or None
        Most lines of an observation; None: a few.
    brief : bool
        Ask in few words.
    """

    after: int = 0
    end: str = "model"
    lines: int | None = None
    brief: bool = False

    @property
    def output(self) -> str:
        """How the prompt describes an observation."""
        if self.lines is None:
            return _FEW
        return "one line of output" if self.lines == 1 else f"at most {self.lines} lines of output"

    def seed(self, seed: int | None) -> int | None:
        """Return the seed of these samples."""
        return None if seed is None else (seed + self.after) % 2**63


def trace_request(
    question: str,
    count: int,
    temperature: float,
    max_new_tokens: int,
    seed: int | None,
    form: Form | None = None,
) -> Request:
    """Ask for `count` hypothetical traces as samples of one prompt."""
    form = form or Form()
    text = (_TRACE_BRIEF if form.brief else _TRACE).replace(_FEW, form.output)
    if form.end == "blank":
        text = text.replace(_ALONE, _NO_BLANKS + _ALONE)
    return Request(
        (Message("user", text.format(question=question)),),
        n=count,
        temperature=temperature,
        max_new_tokens=max_new_tokens,
        seed=form.seed(seed),
        stop=STEP_END[form.end],
        question=question,
        kind="traces",
        after=form.after,
    )


def joint_request(
    question: str,
    count: tuple[int, int],
    temperature: float,
    max_new_tokens: int,
    seed: int | None,
    form: Form | None = None,
) -> Request:
    """Ask for traces and paraphrases in one sample: the paraphrases first, so that a cut costs a trace.

    Where one trace is wanted, a second step is one too many and ends the answer, unless the form leaves its
    end to the model.
    """
    form = form or Form()
    K, P = count
    text = (_JOINT_BRIEF if form.brief else _JOINT).format(
        question=question,
        lines=form.output,
        wish=_wish(P),
        more=_more(P),
        steps="the one stored step" if K == 1 else f"{K} different stored steps, one after the other,",
    )
    return Request(
        (Message("user", text),),
        temperature=temperature,
        max_new_tokens=max_new_tokens * K + PARAPHRASE_TOKENS * P,
        seed=form.seed(seed),
        stop=STEP_END["model" if form.end == "model" or K > 1 else "step"],
        question=question,
        kind="joint",
        after=form.after,
        want=count,
    )


def _wish(count: int) -> str:
    return "one other wording" if count == 1 else f"{count} other wordings, each different from the rest"


def _more(count: int) -> str:
    return "" if count == 1 else "\n2. second wording" + ("\n..." if count > 2 else "")


def paraphrase_request(
    question: str, count: int, temperature: float, max_new_tokens: int, seed: int | None
) -> Request:
    """Ask for `count` paraphrases as one numbered list."""
    text = _PARAPHRASE.format(question=question, count=count, wish=_wish(count), more=_more(count))
    return Request(
        (Message("user", text),),
        temperature=temperature,
        max_new_tokens=max_new_tokens,
        seed=seed,
        question=question,
        kind="paraphrases",
    )
