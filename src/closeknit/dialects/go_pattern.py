"""Regular expressions as Go's `regexp` reads them, matched in time linear in the text.

Volcano matches nodes by Go's expressions, which never take exponential time; Python's do: `(a+)+$` on forty letters
would take days. So an expression is turned into a small automaton, and a text is matched by following all of its
states at once. What has been followed once is remembered, so that thousands of similar names cost little.
"""

from __future__ import annotations

from .go_pattern_syntax import Chars, Choice, Edge, Parser, Part, PatternError, Repeat, Sequence

MOST_STATES = 20_000
REMEMBERED = 5_000
"""How many sets of states one expression remembers."""
END = 0
"""The last state."""


class GoPattern:
    """An expression to search texts with; raises PatternError if it cannot be read."""

    def __init__(self, text: str) -> None:
        self._code = _Code()
        begin = self._code.add(Parser(text).whole())
        self._first = self._code.closure([begin], at_start=True)
        self._later = self._code.closure([begin], at_start=False)
        self._next: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def search(self, text: str) -> bool:
        """Whether any part of the text matches."""
        states = self._first
        for char in text:
            if END in states:
                return True
            states = self._after(states, char)
        return self._code.accepts(states, at_start=not text)

    def _after(self, states: frozenset[int], char: str) -> frozenset[int]:
        found = self._next.get((states, char))
        if found is None:
            found = self._code.closure(self._code.moves(states, char), at_start=False) | self._later
            if len(self._next) < REMEMBERED:
                self._next[states, char] = found
        return found


class _Code:
    """States, each with what it reads (Chars, Edge or nothing) and the states after it; END is the last."""

    def __init__(self) -> None:
        self._added = 0
        self._reads: list[Chars | Edge | None] = [None]
        self._then: list[list[int]] = [[]]

    def add(self, part: Part, end: int = END) -> int:
        """The state at which the part begins; `end` is the state after it."""
        after = end
        self._added += 1
        if self._added > MOST_STATES:
            raise PatternError("its repetitions make it too large")
        match part:
            case Chars() | Edge():
                return self._state(part, [after])
            case Sequence(parts):
                for one in reversed(parts):
                    after = self.add(one, after)
                return after
            case Choice(parts):
                return self._state(None, [self.add(one, after) for one in parts])
            case Repeat(inner, least, most):
                if most is None:
                    loop = self._state(None, [after])
                    self._then[loop].append(self.add(inner, loop))
                    after = loop
                for _ in range(0 if most is None else most - least):
                    after = self._state(None, [self.add(inner, after), end])
                for _ in range(least):
                    after = self.add(inner, after)
                return after

    def _state(self, reads: Chars | Edge | None, then: list[int]) -> int:
        self._reads.append(reads)
        self._then.append(then)
        return len(self._reads) - 1

    def closure(self, states: list[int], at_start: bool) -> frozenset[int]:
        """These states and all that follow without reading a character; the edge at the end stays a state."""
        found, left = set(states), list(states)
        while left:
            state = left.pop()
            reads = self._reads[state]
            if reads is None or (isinstance(reads, Edge) and not reads.at_end and at_start):
                fresh = [one for one in self._then[state] if one not in found]
                found.update(fresh)
                left += fresh
        return frozenset(found)

    def moves(self, states: frozenset[int], char: str) -> list[int]:
        reading = ((state, self._reads[state]) for state in states)
        return [self._then[state][0] for state, reads in reading if isinstance(reads, Chars) and reads.has(char)]

    def accepts(self, states: frozenset[int], at_start: bool) -> bool:
        """Whether these states are the end, now that the text has ended; in an empty one that is its start, too."""
        found = states
        while True:
            ends = [one for one in found if isinstance(edge := self._reads[one], Edge) and edge.at_end]
            more = found | self.closure([self._then[one][0] for one in ends], at_start)
            if more == found:
                return END in found
            found = more
