"""No answer at all: exceptions of their own, which the command line can name without loading the client."""

from __future__ import annotations


class Unreachable(Exception):  # noqa: N818 - it is a state of things, not a fault
    """There is no answer from `server`, or none that makes sense.

    `sent`: the request may have reached it, and may have been carried out.
    """

    def __init__(self, server: str, why: str, *, sent: bool = False) -> None:
        super().__init__(f"{server}: {why}")
        self.server, self.why, self.sent = server, why, sent


class NoCredentials(Unreachable):
    """There is nothing to tell the server who we are; it was not asked."""
