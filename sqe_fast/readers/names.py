"""Names of trajectories that are unique within one reading, so that ids of steps are too."""

from __future__ import annotations

__all__ = ["Names"]


class Names:
    """Hands out each name once: the second trajectory called `a` is `a#2`.

    Examples
    --------
    >>> names = Names()
    >>> [names.unique(name) for name in ("a", "b", "a")]
    ['a', 'b', 'a#2']
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """Return `name`, or `name#n` where it was handed out before."""
        count = self._seen.get(name, 0) + 1
        while count > 1 and f"{name}#{count}" in self._seen:
            count += 1
        self._seen[name] = count
        if count == 1:
            return name
        fresh = f"{name}#{count}"
        self._seen[fresh] = 1
        return fresh
