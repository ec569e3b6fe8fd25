"""`-l`: which objects of a cluster, by their labels; read here first, so that what nobody can read is never sent."""

from __future__ import annotations

from ..model.mistake import refuse

FORMS = "write KEY=VALUE, KEY!=VALUE, KEY, !KEY or KEY in (A,B), with commas between"


def label_query(text: str | None) -> dict[str, str]:
    """What the server is asked."""
    from ..cluster.embedded.rest.selectors import selection
    from ..cluster.errors import BadRequest
    from ..cluster.kinds import POD

    if not text:
        return {}
    try:
        selection(POD, "", text, "")
    except BadRequest as error:
        raise refuse(f'"{text}" is not a selector: {error.message}', FORMS, what="--selector") from None
    return {"labelSelector": text}
