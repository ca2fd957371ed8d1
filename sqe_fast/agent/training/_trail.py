"""One rollout in tokens: the ids that were sampled, the ids that were shown, and which is which."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Sample", "Trail", "decode", "fewest"]


@dataclass(frozen=True)
class Sample:
    """What a policy said in one turn.

    Attributes
    ----------
    ids : sequence of int
        New tokens as they were sampled, an end-of-sequence token included where there is one.
    logprobs : sequence of float, optional
        One for each of `ids`.
    error : str or None
        Why there is none; the rollout ends there.
    """

    ids: Sequence[int] = ()
    logprobs: Sequence[float] | None = None
    error: str | None = None


@dataclass
class Trail:
    """The tokens of one rollout so far, and the sample that is being read."""

    prompt: list[int]
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    known: bool = True  # every sample had logprobs
    turn_ends: list[int] = field(default_factory=list)
    body: list[int] = field(default_factory=list)  # of the sample, without its end
    end: list[int] = field(default_factory=list)
    said: list[float] = field(default_factory=list)
    stopped: bool = False  # a stop text ended it

    def hear(self, sample: Sample, ends: Collection[int]) -> None:
        """Take in a sample; what follows its first end-of-sequence token is padding."""
        ids = [int(token) for token in sample.ids]
        stop = next((place for place, token in enumerate(ids) if token in ends), len(ids))
        self.body, self.end, self.stopped = ids[:stop], ids[stop : stop + 1], False
        self.known = self.known and sample.logprobs is not None
        self.said = [0.0] * (stop + 1) if sample.logprobs is None else [float(p) for p in sample.logprobs]

    def keep(self, text: str, tokenizer: Any, last: bool) -> int:
        """Keep the sampled tokens that hold `text`; return how many.

        Where the rollout ends with the whole sample (`last`), its end-of-sequence token is the policy's too;
        behind a stop text there is none, only what engines fill rows with.
        """
        whole = not self.stopped and text == decode(tokenizer, self.body)
        kept = len(self.body) if whole else fewest(self.body, text, tokenizer)
        ids = self.body[:kept]
        if last and whole:
            ids = ids + self.end
        self._add(ids, 1, self.said[: len(ids)])
        return len(ids)

    def show(self, ids: Sequence[int]) -> int:
        """Add tokens that are not the policy's; return how many."""
        self._add(ids, 0, [0.0] * len(ids))
        return len(ids)

    def _add(self, ids: Sequence[int], mask: int, logprobs: Sequence[float]) -> None:
        self.ids += ids
        self.mask += [mask] * len(ids)
        self.logprobs += logprobs

    @property
    def length(self) -> int:
        """Tokens up to the policy's last one: what was shown behind it nobody read."""
        return next((place + 1 for place in reversed(range(len(self.mask))) if self.mask[place]), 0)


def fewest(ids: Sequence[int], text: str, tokenizer: Any) -> int:
    """Return how many of `ids`, from the first, it takes to hold `text`, a beginning of what they decode to.

    The last token may hold more: an engine that stops at a tag stops behind the token that completes it.
    About log2(len(ids)) decodings.
    """
    low, high = 0, len(ids)
    if not text:
        return 0
    while low < high:
        middle = (low + high) // 2
        if decode(tokenizer, ids[:middle]).startswith(text):
            high = middle
        else:
            low = middle + 1
    return low


def decode(tokenizer: Any, ids: Sequence[int]) -> str:
    """Return the text of tokens, special ones left out, white space as it was written."""
    text: str = tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return text
