"""`-l`: select objects by label. Parsed here first, so that a malformed selector is never sent."""

from __future__ import annotations

from ..model.mistake import refuse

FORMS = "write KEY=VALUE, KEY!=VALUE, KEY, !KEY or KEY in (A,B), separated by commas"


def label_query(text: str | None) -> dict[str, str]:
    """The query parameters for the selector."""
    from ..cluster.embedded.rest.selectors import selection
    from ..cluster.errors import BadRequest
    from ..cluster.kinds import POD

    if not text:
        return {}
    try:
        selection(POD, "", text, "")
    except BadRequest as error:
        raise refuse(f'"{text}" is not a label selector: {error.message}', FORMS, what="--selector") from None
    return {"labelSelector": text}
