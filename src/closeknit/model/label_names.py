"""What Kubernetes accepts as a label key, as a label value, and as the name of an object.

A key is a qualified name: an optional DNS prefix, a slash, a short name. These checks do not report which rule a value
violates; the message that names the field also says what is allowed.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_NAME = 63
MAX_PREFIX = 253
REMEMBERED = 16_384
"""How many results are cached: the same keys, racks and names come again and again."""

SHORT_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
SUBDOMAIN = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
QUALIFIED_NAME = rf"(?:{SUBDOMAIN}/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?"
"""Patterns that match a whole text, not counting lengths; they also go into CRDs and policies."""

_NAME = re.compile(SHORT_NAME)
_SUBDOMAIN = re.compile(SUBDOMAIN)


def is_qualified_name(text: str) -> bool:
    """Whether this can be a label key: is_qualified_name("kubernetes.io/hostname"), but not "/rack" or "a/b/c"."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return len(name) <= MAX_NAME and _is_short_name(name)


def is_subdomain(text: str) -> bool:
    """Whether this can be the name of an object: is_subdomain("train-1.a"), but not "Train" or "train_1"."""
    return len(text) <= MAX_PREFIX and _is_lower_name(text)


def is_label_value(text: str) -> bool:
    """Whether this can be a label value: empty, or at most 63 characters with letters or digits at both ends."""
    return not text or (len(text) <= MAX_NAME and _is_short_name(text))


@lru_cache(REMEMBERED)
def _is_short_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


@lru_cache(REMEMBERED)
def _is_lower_name(text: str) -> bool:
    return _SUBDOMAIN.fullmatch(text) is not None
