"""Kubernetes quantities, exactly.

A quantity is a decimal number with an optional suffix: `250m`, `1.5Gi`, `12e6`, `123n`. No float touches
it: the value is held as an integer count of nano-units, finer digits rounded up, as the API server does.
Library parsers are wrong at the edges (`1K`, `1 Gi` and `Infinity` accepted, `1E3` and `123n` refused), hence
this one. Callers want integers: milli-units for cpu, whole units for everything else, both rounded up.
"""

from __future__ import annotations

import re
from functools import lru_cache

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

_NANO = 10**9
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)", re.ASCII | re.DOTALL)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,3})", re.ASCII)
_SUFFIXES: dict[str, int] = {
    "n": 1,
    "u": 10**3,
    "m": 10**6,
    "": _NANO,
    **{suffix: _NANO * 1000 ** (i + 1) for i, suffix in enumerate("kMGTPE")},
    **{suffix + "i": _NANO * 1024 ** (i + 1) for i, suffix in enumerate("KMGTPE")},
}


class QuantityError(ValueError):
    """The text is not a Kubernetes quantity."""


@lru_cache(maxsize=4096)
def nanos(text: str) -> int:
    """The quantity in nano-units: nanos("1500m") == 1_500_000_000."""
    match = _NUMBER.fullmatch(text)
    assert match is not None  # the pattern accepts any text
    sign, whole, fraction, suffix = match.groups()
    if not whole and not fraction:
        raise QuantityError(f'"{text}" is not a quantity: write a number and a suffix such as 500m, 2, 1.5Gi')
    numerator, denominator = _scale(text, suffix)
    digits = int(whole + (fraction or "") or "0")
    value = _divide_up(digits * numerator, denominator * 10 ** len(fraction or ""))
    return -value if sign == "-" else value


def _scale(text: str, suffix: str) -> tuple[int, int]:
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix], 1
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None:
        raise QuantityError(
            f'"{text}" is not a quantity: unknown suffix "{suffix}"; '
            "use n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent such as e3"
        )
    power = int(exponent.group(1))
    return (_NANO * 10**power, 1) if power >= 0 else (_NANO, 10**-power)


def _divide_up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def units(text: str) -> int:
    """Whole units, rounded up: units("1Ki") == 1024, units("100m") == 1."""
    return _divide_up(nanos(text), _NANO)


def milli(text: str) -> int:
    """Milli-units, rounded up: milli("1.5") == 1500."""
    return _divide_up(nanos(text), 10**6)


def saturate(value: int) -> int:
    """Clamp a value to int64."""
    return max(INT64_MIN, min(INT64_MAX, value))
