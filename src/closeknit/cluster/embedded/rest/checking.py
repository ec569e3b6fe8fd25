"""Field validation: whether an object from a client has only known fields, with values of the right types.

The client chooses by `fieldValidation` what happens to an unknown or duplicate field: reject the object, warn, or
ignore it. In any case such a field is not stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import BadRequest, Refused
from ...kinds import Kind
from ...port import Raw
from .. import schema
from ..patching import unusable
from ..store import WriteOptions


def checked(
    kind: Kind, raw: Raw, options: WriteOptions, part: str = "", repeated: Sequence[str] = (), by_patch: bool = False
) -> Raw:
    """The object with known fields only; raises a Refused, or fills `options.warnings`.

    A field that a custom kind lacks may still get a default, so missing fields are checked after the rules.
    """
    check_types(kind, raw, part, is_partial=not kind.is_built_in and part != "status", by_patch=by_patch)
    kept, unknown = schema.prune(kind, raw)
    problems = [f'unknown field "{field}"' for field in unknown] + [f'duplicate field "{field}"' for field in repeated]
    if problems and options.validation == "Strict":
        raise _strict(kind, f"strict decoding error: {', '.join(problems)}", by_patch)
    if options.validation == "Warn":
        options.warnings.extend(problems)
    return kept


def check_types(kind: Kind, raw: Raw, part: str = "", is_partial: bool = False, by_patch: bool = False) -> None:
    """Reject an object with values of the wrong type; `is_partial`: missing fields are allowed."""
    causes = schema.check_types(kind, raw, part, is_partial)
    if causes:
        name = raw["metadata"].get("name") if isinstance(raw.get("metadata"), dict) else ""
        raise schema.wrong_form(kind, str(name or ""), causes, by_patch)


def _strict(kind: Kind, text: str, by_patch: bool) -> Refused:
    if by_patch:
        return unusable(text)
    return BadRequest(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {text}')
