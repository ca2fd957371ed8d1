"""A gate that never spends more than a given number of tokens."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_int, describe
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate._gates.base import Asking, ChoosingRun, Decide, Gate, Payee, Quote, Scored, TokenCounter
from sqe_fast.gate._gates.base import choose as decision
from sqe_fast.gate._gates.plain import AlwaysGate, check_gate
from sqe_fast.usage import Usage

__all__ = ["TokenBudgetGate", "TokenRun"]

MAX_TOTAL = 2**62


@dataclass(frozen=True)
class TokenBudgetGate(Scored):
    """Expand the neediest questions for as long as the tokens last.

    Before a question is expanded, the most that it can cost is set aside: the length of each of its prompts,
    counted by the generator's own tokenizer and chat template, and `max_new_tokens` for every sample. When
    its chunk has been answered, what it really cost is paid from that, and the rest is free again. So what is
    paid and what is set aside never exceed `total` together, whatever the model writes. Cached prompt tokens
    count in full; answers out of an `ExpansionCache` cost nothing, unless the expander counts them all the
    same (`count_cached`). A question that repeats within a chunk has its cost set aside each time and is paid
    once.

    In each chunk the questions that `wish` lets through are taken, neediest first (equals in order), until
    the next one does not fit. The engine is a chunk ahead of what has been paid, so small chunks
    (``Engine(chunk=64)``) let a budget be spent further than one large chunk does.

    Attributes
    ----------
    total : int
        Tokens of prompts and completions, for the whole run.
    wish : Gate
        What is to be expanded while there are tokens; by default everything. With a `StreamingGate` or a
        `ThresholdGate`, agents that ask one question at a time spend on those that need it. A wish that is
        not granted counts as granted in the wishing gate's own account.
    questions : int, optional
        How many will be asked, if that is known: the tokens are then spread evenly, so that after t
        questions about t / questions of them are spent. That is reckoned with the expected cost, the share of
        `max_new_tokens` that completions took so far; the total holds in any case.
    counter : callable, optional
        From a text to its number of tokens, for generators that cannot count (an endpoint): it should rather
        count too much, and allow for what a chat template adds to a message. None: the generator's own.
    """

    total: int
    wish: Gate = field(default_factory=AlwaysGate)
    questions: int | None = None
    counter: TokenCounter | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("total", self.total, 0, MAX_TOTAL)
        check_gate("wish", self.wish)
        if self.questions is not None:
            check_int("questions", self.questions, 1, MAX_TOTAL)
        if self.counter is not None and not callable(self.counter):
            raise InvalidTypeError(f"counter must be a function of a text; got {describe(self.counter)}")

    @property
    def signals(self) -> tuple[str, ...]:
        """Those of the order, and those of the wishes."""
        return tuple(dict.fromkeys([*super().signals, *self.wish.signals]))

    def start(self) -> Decide:
        """See `Gate.start`."""
        return TokenRun(self)


@dataclass
class _Account:
    """What a run, or several that share it, have set aside and paid, in tokens."""

    wish: Decide
    paid: int = 0
    prompt: int = 0  # set aside
    completion: int = 0
    seen: int = 0
    written: int = 0  # completions, of questions that are paid ...
    most: int = 0  # ... and what had been set aside for them

    @property
    def share(self) -> float:
        """The expected part of what completions may take at most."""
        return min(1.0, self.written / self.most) if self.most else 1.0


class TokenRun(ChoosingRun):
    """The decisions and the account of one run of a `TokenBudgetGate`."""

    def __init__(self, gate: TokenBudgetGate, account: _Account | None = None) -> None:
        self._gate = gate
        self._account = _Account(gate.wish.start()) if account is None else account
        self._unpaid: deque[tuple[int, int]] = deque()

    def again(self) -> TokenRun:
        """Return a further run on the same account; what each is paid for is its own."""
        return TokenRun(self._gate, self._account)

    @property
    def spent(self) -> int:
        """Tokens paid."""
        return self._account.paid

    @property
    def reserved(self) -> int:
        """Tokens set aside for questions that are not paid yet.

        A search that breaks off never pays: its tokens stay set aside, since nobody knows what it has cost.
        """
        return self._account.prompt + self._account.completion

    @property
    def left(self) -> int:
        """Tokens that can be set aside."""
        return max(0, self._gate.total - self.spent - self.reserved)

    def choose(self, asking: Asking) -> NDArray[np.bool_]:
        """Take the neediest wishes that fit, and set their cost aside."""
        account, gate = self._account, self._gate
        places = np.flatnonzero(decision(account.wish, asking))
        account.seen += int(asking.open.sum())
        chosen = np.zeros(len(asking), np.bool_)
        prompt = completion = 0
        if len(places) and self.left:
            places = places[np.argsort(-gate.need(asking.signals)[places], kind="stable")]
            quote = self._quote(asking, places)
            number = self._fitting(quote)
            chosen[places[:number]] = True
            prompt, completion = int(quote.prompt[:number].sum()), int(quote.completion[:number].sum())
        self._unpaid.append((prompt, completion))
        account.prompt += prompt
        account.completion += completion
        return chosen

    def paid(self, usage: Usage) -> None:
        """Pay for the questions of one decision; see `Payee.paid`."""
        if not self._unpaid:
            raise InvalidInputError("TokenRun: paid more often than chosen")
        account = self._account
        prompt, completion = self._unpaid.popleft()
        account.prompt -= prompt
        account.completion -= completion
        account.paid += usage.total_tokens
        account.written += int(usage.completion_tokens.sum())
        account.most += completion
        if isinstance(account.wish, Payee):
            account.wish.paid(usage)

    def _quote(self, asking: Asking, places: NDArray[np.int64]) -> Quote:
        if asking.quote is None:
            raise InvalidInputError(
                "TokenBudgetGate needs to know what an expansion can cost: ask it through an Engine"
            )
        return asking.quote(places, self._gate.counter)

    def _fitting(self, quote: Quote) -> int:
        """Return how many of the questions, from the first on, there are tokens for."""
        account, gate = self._account, self._gate
        number = int(np.searchsorted(np.cumsum(quote.prompt + quote.completion), self.left, "right"))
        if gate.questions is not None:
            due = gate.total * min(1.0, account.seen / gate.questions)
            expected = account.paid + account.prompt + account.completion * account.share
            costs = np.cumsum(quote.prompt + quote.completion * account.share)
            number = min(number, int(np.searchsorted(costs, due - expected, "right")))
        return number
