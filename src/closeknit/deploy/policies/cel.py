"""Phrases of CEL that policies are made of.

Everything is asked for with `?`: a step into what is not there, or into a text or a number, gives nothing instead of an
error, and an error would refuse the object. Literals are written as JSON, which CEL reads alike. Lists and maps hold
values of one type only, so a map of mixed ones is made of `dyn(…)`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable


def text(value: str) -> str:
    return json.dumps(value)


def texts(values: Iterable[str]) -> str:
    return f"[{', '.join(text(one) for one in values)}]"


def record(**values: str) -> str:
    """A map of mixed values, each given as an expression."""
    return f"{{{', '.join(f'{text(key)}: dyn({value})' for key, value in values.items())}}}"


def deep(path: str, of: str = "object") -> str:
    """What is there, if anything: deep("spec.suspend") == "object.?spec.?suspend"."""
    return f"{of}.?{path.replace('.', '.?')}"


def at(path: str, default: str, of: str = "object") -> str:
    """The value down there: at("spec.suspend", "false") == "object.?spec.?suspend.orValue(false)"."""
    return f"{deep(path, of)}.orValue({default})"


def given(path: str, of: str = "object") -> str:
    return f"{deep(path, of)}.hasValue()"


def label(key: str, of: str = "object") -> str:
    """The value of a label, empty if there is none."""
    return f'{of}.metadata.?labels[?{text(key)}].orValue("")'


def note(key: str, of: str = "object") -> str:
    """The value of an annotation, empty if there is none."""
    return f'{of}.metadata.?annotations[?{text(key)}].orValue("")'


def has_label(key: str, of: str = "object") -> str:
    return f"{of}.metadata.?labels[?{text(key)}].hasValue()"


def has_note(key: str, of: str = "object") -> str:
    return f"{of}.metadata.?annotations[?{text(key)}].hasValue()"


def all_of(*conditions: str) -> str:
    return " && ".join(f"({one})" for one in conditions)


def any_of(*conditions: str) -> str:
    return " || ".join(f"({one})" for one in conditions)


def negated(condition: str) -> str:
    return f"!({condition})"


def when(condition: str, then: str) -> str:
    """What holds wherever the condition does not, and only there needs to be true."""
    return f"!({condition}) || ({then})"


def same(path: str) -> str:
    """Whether a field is as it was, or was and is not there."""
    return f"{deep(path)} == {deep(path, 'oldObject')}"


def is_name(value: str) -> str:
    """Whether a text can be the name of an object."""
    return f"!format.dns1123Subdomain().validate({value}).hasValue()"


def is_label_name(value: str) -> str:
    return f"!format.qualifiedName().validate({value}).hasValue()"


def is_integer(value: str) -> str:
    """Whether a text can be given to `int()`, which refuses the object where it cannot; ten digits are enough."""
    return f'{value}.matches("^[+-]?0*[0-9]{{1,10}}$")'


def is_count(value: str) -> str:
    """Whether a text is a whole number above 0 that fits into 32 bits."""
    return f'{value}.matches("^0*[1-9][0-9]{{0,9}}$") && int({value}) <= {2**31 - 1}'


def smaller(one: str, other: str) -> str:
    return f"({one} < {other} ? {one} : {other})"
