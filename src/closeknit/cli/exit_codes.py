"""The exit codes, the same for every command; `docs/reference/commands.md` has the table."""

from __future__ import annotations

YES = 0
INTERNAL_ERROR = 1
BAD_INPUT = 2
"""Wrong usage, a malformed selector, an invalid manifest."""
NOT_NOW = 3
"""The job does not fit, there is nothing to propose, or the timeout expired."""
UNAVAILABLE = 4
"""The named object does not exist, the cluster refused or did not answer, its folder or port is in use, or its disk is
full."""
REPLACED = 5
"""A controller lost its leadership or has to restart: its supervisor starts it again."""
INTERRUPTED = 130
