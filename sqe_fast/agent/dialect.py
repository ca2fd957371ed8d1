"""The two tag dialects in which a policy thinks, searches and answers: read tolerantly, judged strictly.

::

    tags    <search>one ## another</search>                        <information>...</information>
    tools   <tool_call>{"name": "search", "arguments":             <tool_response>...</tool_response>
            {"query_list": ["one", "another"]}}</tool_call>

`<think>` and `<answer>` are common to both. Reading never fails: what models really write (tags that are not
closed, repeated, nested, cut at the end of a turn; several answers; JSON in code fences) gets its likely
meaning. `Dialect.valid` forgives nothing: it is what format rewards pay for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sqe_fast.agent._queries import Form, read_queries, valid_queries, write_queries
from sqe_fast.errors import InvalidInputError

__all__ = ["DIALECTS", "SINGLE", "TAGS", "TOOLS", "Block", "Dialect", "Turn"]

_TAIL = re.compile(r"<[ \t]*/[ \t]*([a-z_]*)\s*\Z", re.IGNORECASE)

Kind = Literal["think", "search", "observation", "answer", "text"]


@dataclass(frozen=True)
class Block:
    """A stretch of a response: what stands between two tags, or between blocks ("text").

    Attributes
    ----------
    kind : str
        "think", "search", "observation", "answer" or "text".
    text : str
        Without tags and surrounding white space. Of a search it is empty where queries were read from it.
    queries : tuple of str
        Those of a "search".
    closed : bool
        Its closing tag is there.
    """

    kind: Kind
    text: str = ""
    queries: tuple[str, ...] = ()
    closed: bool = True


@dataclass(frozen=True)
class Turn:
    """What one turn of the policy does.

    Attributes
    ----------
    action : "search", "answer" or "none"
        A search may hold no query.
    text : str
        The turn up to the end of its action, as it was written.
    queries : tuple of str
    answer : str or None
        The last one, where there are several.
    missing : str
        The closing tag that `text` lacks; empty where it lacks none.
    """

    action: Literal["search", "answer", "none"]
    text: str
    queries: tuple[str, ...] = ()
    answer: str | None = None
    missing: str = ""


@dataclass(frozen=True)
class Dialect:
    """One way to write searches and observations.

    Attributes
    ----------
    name : str
    search, observation : str
        The names of their tags.
    form : "separated", "single" or "json"
        How queries stand in a search: split by ``##`` or lines, all of it as one query, or a tool call.

    Examples
    --------
    >>> TAGS.turn("<think>Two things.</think> <search>who wrote Emma ## when was Emma written").queries
    ('who wrote Emma', 'when was Emma written')
    >>> TAGS.valid("<think>I know.</think><answer>1815</answer>")
    True
    """

    name: str
    search: str
    observation: str
    form: Form

    @property
    def stops(self) -> tuple[str, ...]:
        """The closing tags at which the generation of a turn stops."""
        return (f"</{self.search}>", "</answer>")

    def tag(self, kind: Kind) -> str:
        """Return the name of the tag around a kind of block."""
        return self.search if kind == "search" else self.observation if kind == "observation" else kind

    def blocks(self, text: str) -> tuple[Block, ...]:
        """Read a response into its blocks, in order; white space between blocks is dropped."""
        return tuple(block for block, _ in self._scan(text))

    def turn(self, text: str) -> Turn:
        """Read one turn of the policy.

        The first search or answer decides, as it does where generation stops at the first closing tag; more
        answers may follow the first, and the last one counts. What stands behind the action is left out. An
        observation that the policy makes up before it acts is passed over.
        """
        answer: tuple[Block, int] | None = None
        for block, end in self._scan(text):
            if block.kind in ("search", "observation"):
                if block.kind == "search" and answer is None:
                    missing = "" if block.closed else f"</{self.search}>"
                    return Turn("search", text[:end], block.queries, missing=missing)
                if answer is not None:
                    break
            if block.kind == "answer":
                answer = block, end
        if answer is None:
            return Turn("none", text)
        block, end = answer
        return Turn("answer", text[:end], answer=block.text, missing="" if block.closed else "</answer>")

    def answer(self, text: str) -> str | None:
        """Return the last answer of a whole response, or None."""
        answers = [block.text for block in self.blocks(text) if block.kind == "answer"]
        return answers[-1] if answers else None

    def plain(self, text: str) -> str:
        """Return the first words of `text` that stand between tags, or before or behind all of them.

        Examples
        --------
        >>> TAGS.plain("Paris <information>Paris is"), TAGS.plain("<search>Paris</search>")
        ('Paris', 'Paris')
        """
        place = 0
        for match in self._pattern.finditer(text):
            if words := text[place : match.start()].strip():
                return words
            place = match.end()
        return text[place:].strip()

    def valid(self, text: str) -> bool:
        """Judge a whole response: (think, search, observation)* think, answer, only white space between.

        Tags must be written exactly, opened and closed in this order; none may stand within a block. A search
        must hold a query, and a tool call must be JSON of the right shape.
        """
        want: tuple[str, ...] = ("think",)
        place, opened = 0, ""
        for match in self._pattern.finditer(text):
            name, content = match["name"], text[place : match.start()]
            place = match.end()
            if match[0] != f"<{match['slash']}{name}>":
                return False
            if match["slash"]:
                if name != opened or (name == self.search and not valid_queries(content, self.form)):
                    return False
                want, opened = self._after[name], ""
            else:
                if opened or name not in want or content.strip():
                    return False
                opened = name
        return not want and not opened and not text[place:].strip()

    def render(self, blocks: Sequence[Block]) -> str:
        """Write blocks, one below the other; `blocks` reads them back as they were.

        Raises
        ------
        InvalidInputError
            A block cannot be written so, such as one whose text holds a tag.
        """
        text = "\n".join(self._write(block) for block in blocks)
        if self.blocks(text) != tuple(blocks):
            raise InvalidInputError(
                f"blocks cannot be written in the dialect {self.name!r}: they would be read differently "
                "(texts must be stripped and without tags, queries distinct from each other by the separator)"
            )
        return text

    def show(self, observation: str) -> str:
        """Return an observation between its tags; tags that it holds lose their power."""
        return f"<{self.observation}>\n{self.neutral(observation)}\n</{self.observation}>"

    def neutral(self, text: str) -> str:
        """Return `text` with the opening bracket of each of the dialect's tags replaced by U+2039.

        A document must not be able to end an observation, or to answer.
        """
        return self._pattern.sub(lambda match: "‹" + match[0][1:], text)

    def _write(self, block: Block) -> str:
        if block.kind == "text":
            return block.text
        name = self.tag(block.kind)
        content = write_queries(block.queries, self.form) if block.queries else block.text
        return f"<{name}>{content}" + (f"</{name}>" if block.closed else "")

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Match a tag, sloppily written or a closing one without its bracket included."""
        space = r"[ \t]{0,4}"
        names = f"(?P<name>think|{self.search}|{self.observation}|answer)"
        end = rf"(?:{space}>|(?<=/{self.search})\b|(?<=/answer)\b)"
        return re.compile(f"<{space}(?P<slash>/?){space}{names}{end}", re.IGNORECASE)

    @cached_property
    def _kinds(self) -> dict[str, Kind]:
        return {self.tag(kind): kind for kind in ("think", "search", "observation", "answer")}

    @cached_property
    def _after(self) -> dict[str, tuple[str, ...]]:
        """The tags that may open after one has closed."""
        return {
            "think": (self.search, "answer"),
            self.search: (self.observation,),
            self.observation: ("think",),
            "answer": (),
        }

    def _scan(self, text: str) -> Iterator[tuple[Block, int]]:
        """Yield blocks and where each ends.

        Within an open block only its own closing tag closes. An opening tag ends an open thought, or a search
        where an observation follows; an action that another tag interrupts was only mentioned. Complexity is
        linear in the text.
        """
        place = start = 0  # the end of the last block; where the open one's content begins
        opened: Kind | None = None
        for match in self._pattern.finditer(text):
            kind = self._kinds[match["name"].lower()]
            if match["slash"]:
                if kind == opened:
                    yield self._block(kind, text[start : match.start()], True), match.end()
                    place, opened = match.end(), None
                continue
            if opened == "observation":
                continue
            if opened == "think" or (opened == "search" and kind == "observation"):
                yield self._block(opened, text[start : match.start()], False), match.start()
            else:
                yield from self._between(text, place, match.start())
            place, start, opened = match.start(), match.end(), kind
        if opened is not None:
            yield self._block(opened, text[start:], False), len(text)
        else:
            yield from self._between(text, place, len(text))

    def _between(self, text: str, start: int, end: int) -> Iterator[tuple[Block, int]]:
        if between := text[start:end].strip():
            yield Block("text", between), end

    def _block(self, kind: Kind, content: str, closed: bool) -> Block:
        if kind in ("search", "answer"):
            content = self._cut_tail(self._pattern.sub(" ", content), self.tag(kind))
        content = content.strip()
        queries = read_queries(content, self.form) if kind == "search" else ()
        return Block(kind, "" if queries else content, queries, closed)

    @staticmethod
    def _cut_tail(content: str, name: str) -> str:
        """Drop the beginning of a closing tag at the end, such as "</sea"."""
        found = _TAIL.search(content, max(0, len(content) - 64))
        return content[: found.start()] if found and name.startswith(found[1].lower()) else content


TAGS = Dialect("tags", "search", "information", "separated")
SINGLE = Dialect("single", "search", "information", "single")
TOOLS = Dialect("tools", "tool_call", "tool_response", "json")

DIALECTS = {dialect.name: dialect for dialect in (TAGS, SINGLE, TOOLS)}
