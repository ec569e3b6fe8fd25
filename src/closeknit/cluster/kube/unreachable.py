"""Exceptions for a missing response, in a module that the command line imports without loading the client."""

from __future__ import annotations


class Unreachable(Exception):  # noqa: N818 - it is a state of things, not a fault
    """No response from `server`, or not one of a Kubernetes API server.

    `sent`: the request may have reached it, and may have been carried out.
    """

    def __init__(self, server: str, why: str, *, sent: bool = False) -> None:
        super().__init__(f"{server}: {why}")
        self.server, self.why, self.sent = server, why, sent


class NoCredentials(Unreachable):
    """There are no credentials for the server; no request was sent."""
