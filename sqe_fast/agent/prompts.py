"""What policies and the compressor are told. Any change of wording changes what a recorded run is worth."""

from __future__ import annotations

from collections.abc import Sequence

from sqe_fast.agent.dialect import Dialect

__all__ = ["ANSWER_NOW", "LAST_SEARCH", "WISHES", "policy_prompt", "squeeze_prompt"]

ANSWER_NOW = "Write the answer now, inside <answer> and </answer>, and nothing else."
LAST_SEARCH = "No search is left: think, then answer."

_THINK = "Reason inside <think> and </think> before you do anything else."
_ANSWER = (
    "When you know the answer, write it inside <answer> and </answer>: a name, a date or a few words, with "
    "no explanation, for example <answer> Lisbon </answer>."
)
_SEARCH = {
    "single": "If a fact is missing, write one search query inside <search> and </search>.",
    "separated": (
        "If facts are missing, write search queries inside <search> and </search>, with ## between them, for "
        "example <search> first query ## second query </search>."
    ),
    "json": (
        "If facts are missing, call the search tool with a list of queries, exactly so:\n"
        '<tool_call>\n{"name": "search", "arguments": {"query_list": ["first query", "second query"]}}\n'
        "</tool_call>"
    ),
}
_READ = (
    "What was found comes back inside <{observation}> and </{observation}>. Read it, think again, and "
    "search again if needed, at most {turns} times in all."
)
_WISHES = {
    "one": "",
    "split": (
        " Put questions that do not depend on each other into one search; where the next question depends on "
        "a result, wait for it."
    ),
    "expand": (
        " Write {queries} queries each time: the need in other words, a smaller question that leads towards "
        "it, and its bare keywords."
    ),
    "route": (
        " Searching here means asking another language model: begin the query with the model's name and a "
        "colon, for example <search> model-name: your question </search>. The models are: {models}. Choose "
        "the one that suits the question and its price."
    ),
}


WISHES = tuple(_WISHES)
_NUMBERS = {None: "several", 2: "two", 3: "three", 4: "four", 5: "five"}


def policy_prompt(dialect: Dialect, turns: int, wish: str = "one", queries: int | None = None) -> str:
    """Return the prompt of a policy, with ``{question}`` where the question goes.

    Parameters
    ----------
    dialect : Dialect
    turns : int
        Search turns; 0: the policy is told of no search.
    wish : "one", "split", "expand" or "route"
        How it should ask; "route" has ``{models}`` where their names go.
    queries : int or None
        Queries a search; None: as many as it likes. Of one query no prompt asks for more.
    """
    parts = ["Answer the question below.", _THINK]
    if turns:
        one = queries == 1 and wish != "route"
        form = "single" if one and dialect.form == "separated" else dialect.form
        asked = _NUMBERS.get(queries, str(queries))
        parts.append(_SEARCH[form] + ("" if one else _WISHES[wish].replace("{queries}", asked)))
        parts.append(_READ.format(observation=dialect.observation, turns=turns))
    return "\n".join([*parts, _ANSWER]) + "\n\nQuestion: {question}\n"


def squeeze_prompt(queries: Sequence[str], found: str) -> str:
    """Return the prompt of the compressor for the queries of one search turn and what they found."""
    wanted = "\n".join(f"- {query}" for query in queries)
    return (
        "Somebody searched for answers to the queries at the end and got the passages that follow. Write "
        "down, in at most 200 words, all facts in these passages that help with any of the queries. Keep "
        "names, dates and numbers exactly. Use nothing but the passages, leave out what does not help, and "
        f"say so in one sentence if nothing does.\n\nPassages:\n{found}\n\nQueries:\n{wanted}\n\nFacts:"
    )
