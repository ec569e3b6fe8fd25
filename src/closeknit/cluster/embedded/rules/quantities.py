"""Quantities in the canonical form of an API server: `1000m` becomes `1`, `1024Mi` becomes `1Gi`, a number a string.

The server decodes and encodes built-in kinds, so two spellings of one amount read back as one. Amounts below a
thousandth are rounded up to it. Custom kinds keep what was written.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ....model.quantity import INT64_MAX, QuantityError, nanos
from ...errors import BadRequest

_DECIMAL = ("m", "", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_MICRO, _NANO = 10**6, 10**9


def canonical_all(quantities: Any) -> Any:
    """A resource list in canonical form; the same object if nothing changes."""
    if not isinstance(quantities, dict):
        return quantities
    for value in quantities.values():
        if not isinstance(value, str) or canonical(value) != value:
            return {name: written(value) for name, value in quantities.items()}
    return quantities


def written(value: Any) -> str:
    """One quantity in canonical form; raises BadRequest if it cannot be decoded."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, type(None))):
        raise BadRequest(f"{value!r} is not a quantity: write a number and a suffix such as 500m, 2, 1.5Gi")
    try:
        return canonical("0" if value is None else str(value))
    except ValueError as error:
        raise BadRequest(str(error)) from error


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """canonical("1.5Gi") == "1536Mi", canonical("0.5") == "500m", canonical("1e4") == "10e3"."""
    if len(text) > 200:
        raise QuantityError(f'"{text[:20]}…" is not a quantity: it has {len(text)} characters')
    exact = nanos(text)
    sign, exact = ("-", -exact) if exact < 0 else ("", exact)
    if not exact:
        return "0"
    if text.endswith("i") and exact >= 1024 * _NANO and exact % _NANO == 0:
        return sign + _binary(min(exact // _NANO, INT64_MAX))
    milli = -(-exact // _MICRO)
    steps = 0
    while milli % 1000 == 0 and (steps < len(_DECIMAL) - 1 or _is_exponent(text)):
        milli, steps = milli // 1000, steps + 1
    if _is_exponent(text):
        return f"{sign}{milli}" + (f"e{3 * steps - 3}" if steps != 1 else "")
    return f"{sign}{milli}{_DECIMAL[steps]}"


def _binary(units: int) -> str:
    steps = 0
    while units % 1024 == 0 and steps < len(_BINARY) - 1:
        units, steps = units // 1024, steps + 1
    return f"{units}{_BINARY[steps]}"


def _is_exponent(text: str) -> bool:
    return ("e" in text or "E" in text) and text[-1:].isdigit()
