"""How commands end, the same for all of them; `docs/reference/commands.md` has the table."""

from __future__ import annotations

YES = 0
OUR_FAULT = 1
BAD_INPUT = 2
"""Wrong use, a malformed selector, a manifest that cannot be used."""
NOT_NOW = 3
"""It does not fit, there is nothing to propose, or the time was up."""
NOT_HAD = 4
"""What was named is missing; or the cluster refuses, does not answer, has its folder or port in use, or a full disk."""
REPLACED = 5
"""A controller that no longer leads, or has to be begun anew: whoever runs it starts it again."""
INTERRUPTED = 130
