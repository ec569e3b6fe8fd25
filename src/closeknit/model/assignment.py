"""Where the pods of a pod set go: an ordered list of domains, each with a number of pods.

Order is ascending by the full path, so rank i of a job is the i-th slot when domains are walked in order and
neighbours in rank are neighbours in the tree. When the lowest level is the host, a domain is named by its
hostname alone; otherwise by the values of all levels. The form that goes over the wire is in `encoding`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .topology import HOSTNAME, Path, Topology


@dataclass(frozen=True, slots=True)
class Assignment:
    levels: tuple[str, ...]
    values: tuple[Path, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, levels: Iterable[str], domains: Iterable[tuple[Path, int]]) -> Assignment:
        pairs = tuple(domains)
        return cls(tuple(levels), tuple(path for path, _ in pairs), tuple(count for _, count in pairs))

    @property
    def domains(self) -> Iterator[tuple[Path, int]]:
        return zip(self.values, self.counts, strict=True)

    @property
    def pods(self) -> int:
        return sum(self.counts)

    @property
    def by_host(self) -> bool:
        return bool(self.levels) and self.levels[-1] == HOSTNAME

    def beyond(self, other: Assignment) -> Assignment:
        """The pods in each domain beyond those that `other` has there: a×3 b×1 beyond a×1 b×2 is a×2."""
        counts: dict[Path, int] = {}
        for path, count in self.domains:
            counts[path] = counts.get(path, 0) + count
        for path, count in other.domains:
            if path in counts:
                counts[path] -= count
        return Assignment.of(self.levels, ((path, count) for path, count in counts.items() if count > 0))

    def slots(self) -> Iterator[Path]:
        """The domain of each rank, rank 0 first."""
        for path, count in self.domains:
            for _ in range(count):
                yield path


def assignment_levels(topology: Topology) -> tuple[str, ...]:
    """The levels an assignment names: only the hostname where it is the lowest level, otherwise all of them."""
    return (HOSTNAME,) if topology.ends_at_host else topology.levels
