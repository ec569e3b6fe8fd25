"""Which container runs in which zone, in the few characters that an attribute of a NodeResourceTopology has room for.

Writer and reader know the same pinned containers, so the wire carries no names: both sort the containers by hash, and
a zone lists the positions of its containers in that order, the first as it is and the others as distances to the one
before. The busiest zone lists nothing: what no zone lists is there. Numbers are LEB89: printable characters of which 64
end a number and 25 continue it.

A container has one zone here; one that spans several cannot be written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from ..model.numa import ReportedPlacement
from .xxh64 import xxh64

MARK = "npv0v001"
ENCODING = "leb89"
ALPHABET = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"&<>\\')
TERMINALS = 64
CONTINUED = len(ALPHABET) - TERMINALS

_DIGITS = {symbol: digit for digit, symbol in enumerate(ALPHABET)}


class ContainerName(NamedTuple):
    namespace: str
    pod: str
    container: str


class PlacementError(ValueError):
    """The placement cannot be decoded."""


def encoded(placement: Mapping[ContainerName, int], zones: int) -> ReportedPlacement:
    """Encode the zone of each container on a node with this many zones."""
    order = _sorted(placement)
    counts = Counter(placement.values())
    busiest = min(counts, key=lambda zone: (-counts[zone], zone), default=0)
    zones = max(zones, busiest + 1, *(zone + 1 for zone in counts)) if counts else zones
    places: dict[int, list[int]] = {}
    for place, container in enumerate(order):
        places.setdefault(placement[container], []).append(place)
    vectors = {zone: _vector(some) for zone, some in sorted(places.items()) if zone != busiest}
    return ReportedPlacement(f"{MARK}::ve={ENCODING}::cc={len(order)}::nn={zones}::bn={busiest}", vectors)


def decoded(report: ReportedPlacement, containers: Iterable[ContainerName]) -> dict[ContainerName, int]:
    """The zone of each of the pinned containers; raises PlacementError if the report does not fit them."""
    count, zones, busiest = _metadata(report.metadata)
    order = _sorted(set(containers))
    if len(order) != count:
        raise PlacementError(f"it is about {count} containers, but {len(order)} are known")
    if not 0 <= busiest < max(zones, 1):
        raise PlacementError(f"the busiest zone is {busiest} of {zones}")
    found: dict[int, int] = {}
    for zone, vector in report.vectors.items():
        if not 0 <= zone < zones:
            raise PlacementError(f"zone {zone} has a vector, but there are {zones} zones")
        if zone == busiest:
            raise PlacementError(f"zone {zone} is the busiest and has a vector")
        _place(found, zone, vector, count)
    return {container: found.get(place, busiest) for place, container in enumerate(order)}


def _place(found: dict[int, int], zone: int, vector: str, count: int) -> None:
    place = 0
    for step in leb89_numbers(vector):
        place += step
        if place >= count:
            raise PlacementError(f"zone {zone} lists container {place} of {count}")
        if place in found:
            raise PlacementError(f"container {place} is listed twice")
        found[place] = zone


def _metadata(text: str) -> tuple[int, int, int]:
    """The number of containers, the number of zones, and the busiest zone."""
    mark, *rest = text.split("::")
    fields = dict(one.partition("=")[::2] for one in rest)
    if mark != MARK or fields.get("ve") != ENCODING:
        raise PlacementError(f"it is not encoded as {MARK} with {ENCODING}")
    numbers = [fields.get(key, "") for key in ("cc", "nn", "bn")]
    if not all(number.isascii() and number.isdigit() and len(number) < 10 for number in numbers):
        raise PlacementError("cc, nn and bn must be numbers")
    count, zones, busiest = map(int, numbers)
    return count, zones, busiest


def _sorted(containers: Iterable[ContainerName]) -> list[ContainerName]:
    return sorted(containers, key=lambda one: (xxh64("\0".join(one).encode(errors="surrogatepass")), one))


def _vector(places: list[int]) -> str:
    steps = [places[0], *(after - before for before, after in pairwise(places))]
    return "".join(map(leb89, steps))


def leb89(number: int) -> str:
    """leb89(63) == "e", leb89(64) == "f!", leb89(1664) == "gf!"."""
    if number < TERMINALS:
        return ALPHABET[number]
    prefix, last = divmod(number - TERMINALS, TERMINALS)
    digits = [prefix % CONTINUED]
    while prefix := prefix // CONTINUED:
        digits.append(prefix % CONTINUED)
    return "".join(ALPHABET[TERMINALS + digit] for digit in reversed(digits)) + ALPHABET[last]


def leb89_numbers(text: str) -> Iterator[int]:
    """The numbers of a vector, one after the other."""
    prefix: int | None = None
    for symbol in text:
        digit = _DIGITS.get(symbol)
        if digit is None:
            raise PlacementError(f"{symbol!r} is no digit of {ENCODING}")
        if digit >= TERMINALS:
            prefix = (prefix or 0) * CONTINUED + digit - TERMINALS
        else:
            yield digit if prefix is None else prefix * TERMINALS + digit + TERMINALS
            prefix = None
    if prefix is not None:
        raise PlacementError("the last number has no end")
