"""`Warning` headers in the format of RFC 7234, which kubectl prints.

Clients limit the size of headers, so the warnings of a response are bounded as in kube-apiserver: if they are too long
each is truncated, and if that is not enough the last are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

MOST, MOST_EACH = 4096, 256


def headers(texts: Iterable[str]) -> Iterator[str]:
    """Each text once: headers(['unknown field "a"']) gives 299 - "unknown field \\"a\\""."""
    found = [_plain(text) for text in dict.fromkeys(texts)]
    if sum(map(len, found)) > MOST:
        found = [text if len(text) <= MOST_EACH else f"{text[: MOST_EACH - 1]}…" for text in found]
    room = MOST
    for text in found:
        room -= len(text)
        if room < 0:
            return
        yield f'299 - "{_escaped(text)}"'


def _plain(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
