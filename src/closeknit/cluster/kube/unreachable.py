"""No answer at all: an exception of its own, which the command line can name without loading the client."""

from __future__ import annotations


class Unreachable(Exception):  # noqa: N818 - it is a state of things, not a fault
    """There is no answer from `server`, or none that makes sense."""

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"{server}: {why}")
        self.server, self.why = server, why
