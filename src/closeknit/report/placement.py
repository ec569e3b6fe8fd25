"""Where the pods of a job are, as a small tree: the domain that contains them all, and the domains in it.

b04/b04-r04       24 pods
├─ b04-r04-n03     5 pods
└─ b04-r04-n04    19 pods
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from ..model.topology import Path

MOST_LINES = 40

Pods = Mapping[Path, int]


def common(paths: Iterator[Path] | list[Path]) -> Path:
    """The path of the smallest domain that contains all of these: common([(a, b), (a, c)]) == (a,)."""
    shared: Path | None = None
    for path in paths:
        if shared is None:
            shared = path
        else:
            same = next((at for at, (one, other) in enumerate(zip(shared, path, strict=False)) if one != other), None)
            shared = shared[: min(len(shared), len(path)) if same is None else same]
    return shared or ()


def branches(pods: Pods, indent: str = "", most: int = MOST_LINES) -> Iterator[str]:
    """One line per domain."""
    top = common(list(pods))
    rows = [("/".join(top) or "everything", sum(pods.values())), *_below(pods, top, "")]
    width = max(len(label) for label, _ in rows)
    digits = len(str(rows[0][1]))
    for label, count in islice(rows, most):
        yield f"{indent}{label:<{width}}  {count:>{digits}} {'pod' if count == 1 else 'pods'}"
    if len(rows) > most:
        yield f"{indent}… and {len(rows) - most} more domains"


def _below(pods: Pods, top: Path, indent: str) -> Iterator[tuple[str, int]]:
    groups: dict[Path, dict[Path, int]] = {}
    for path, count in pods.items():
        if len(path) > len(top):
            groups.setdefault(path[: len(top) + 1], {})[path] = count
    for number, (domain, inside) in enumerate(groups.items(), start=1):
        is_last = number == len(groups)
        yield f"{indent}{'└─ ' if is_last else '├─ '}{domain[-1]}", sum(inside.values())
        yield from _below(inside, domain, indent + ("   " if is_last else "│  "))
