"""The search as a tool, for verl's own tool agent loop and its chat templates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse

from sqe_fast.agent.answers import contains_match
from sqe_fast.agent.observe import Observer
from sqe_fast.agent.training.verl.parts import SharedObserver, get_compressor, get_retriever
from sqe_fast.agent.values import Asking, SearchTurn
from sqe_fast.errors import InvalidInputError

__all__ = ["SearchTool"]


@dataclass
class _Use:
    question: str = ""
    golden: tuple[str, ...] = ()
    turns: list[SearchTurn] = field(default_factory=list)


class SearchTool(BaseTool):  # type: ignore[misc]
    """Searches a list of queries at once; what they find may be squeezed.

    Calls that wait at the same time, of whatever rollout, are one batched search.

    Parameters
    ----------
    config : dict
        ``retriever`` (needed), ``compressor``, ``squeeze_tokens`` (see `parts`), ``k`` passages a query (5),
        ``queries`` that count of each call (3).
    tool_schema : OpenAIFunctionToolSchema, optional
        In place of this tool's own.
    """

    def __init__(self, config: dict[str, Any], tool_schema: OpenAIFunctionToolSchema | None = None) -> None:
        super().__init__(config, tool_schema)
        retriever = get_retriever(config.get("retriever"))
        if retriever is None:
            raise InvalidInputError("the search tool's config needs retriever")
        squeezer = get_compressor(config.get("compressor"), config.get("squeeze_tokens", 512))
        self._shared = SharedObserver(Observer(retriever, config.get("k", 5), squeezer))
        self._most = int(config.get("queries", 3))
        self._uses: dict[str, _Use] = {}

    def get_openai_tool_schema(self) -> OpenAIFunctionToolSchema:
        """Return the schema: a function "search" of one list of queries."""
        return OpenAIFunctionToolSchema.model_validate(
            {
                "type": "function",
                "function": {
                    "name": "search",
                    "description": "Search for passages that answer any of several queries.",
                    "parameters": {
                        "type": "object",
                        "properties": {
                            "query_list": {
                                "type": "array",
                                "description": "Strings: other words, a smaller question, keywords.",
                            }
                        },
                        "required": ["query_list"],
                    },
                },
            }
        )

    async def create(self, instance_id: str | None = None, **kwargs: Any) -> tuple[str, ToolResponse]:
        """Begin a use; `create_kwargs` may hold `question` and `golden_answers`."""
        given = {**kwargs, **(kwargs.get("create_kwargs") or {})}
        name = instance_id or uuid4().hex
        golden = given.get("golden_answers")
        self._uses[name] = _Use(given.get("question") or "", () if golden is None else tuple(golden))
        return name, ToolResponse()

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], **_: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        """Search; a call that holds no query is told so. The step's reward is 0."""
        use = self._uses.setdefault(instance_id, _Use())
        given = parameters.get("query_list", parameters.get("query", []))
        listed = [given] if isinstance(given, str) else given if isinstance(given, (list, tuple)) else []
        squeezed = [" ".join(query.split()) for query in listed if isinstance(query, str)]
        queries = tuple(dict.fromkeys(query for query in squeezed if query))[: self._most]
        (found,) = await self._shared.observe([queries], [Asking(instance_id, use.question, len(use.turns))])
        turn: SearchTurn = found.turn
        use.turns.append(turn)
        metrics = {"queries": len(queries), "passages": len(turn.passages), "problem": turn.problem}
        return ToolResponse(text=turn.observation), 0.0, metrics

    async def calc_reward(self, instance_id: str, **_: Any) -> float:
        """Return 1.0 where a golden answer stands in what was found so far, else 0.0."""
        use = self._uses.get(instance_id, _Use())
        texts = (f"{p.title} {p.text}" for turn in use.turns for p in turn.passages)
        return max((contains_match(text, use.golden) for text in texts), default=0.0)

    async def release(self, instance_id: str, **_: Any) -> None:
        """Forget a use."""
        self._uses.pop(instance_id, None)
