"""Where the pods of a pod set go: an ordered list of domains, each with a number of pods.

Order is ascending by the full path, so rank i of a job is the i-th slot when domains are walked in order and
neighbours in rank are neighbours in the tree. Where a pod set is placed replica by replica, the places of replica 0
come first, then those of replica 1, and a domain that several of them use may be listed several times. When the lowest
level is the host, a domain is named by its hostname alone; otherwise by the values of all levels. The form that goes
over the wire is in `encoding`.
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
    def pods_by_domain(self) -> dict[Path, int]:
        """The pods of each domain, which may be listed several times."""
        counts: dict[Path, int] = {}
        for path, count in self.domains:
            counts[path] = counts.get(path, 0) + count
        return counts

    @property
    def by_host(self) -> bool:
        return bool(self.levels) and self.levels[-1] == HOSTNAME

    def beyond(self, other: Assignment) -> Assignment:
        """The pods in each domain beyond those that `other` has there: a×3 b×1 beyond a×1 b×2 is a×2."""
        counts = self.pods_by_domain
        for path, count in other.domains:
            if path in counts:
                counts[path] -= count
        return Assignment.of(self.levels, ((path, count) for path, count in counts.items() if count > 0))

    def cut(self, size: int) -> list[Assignment]:
        """The places of each run of `size` ranks: a×3 b×3 in runs of 2 is a×2, a×1 b×1 and b×2."""
        runs: list[list[tuple[Path, int]]] = []
        left = 0
        for path, count in self.domains:
            while count:
                if not left:
                    runs.append([])
                    left = size
                taken = min(count, left)
                runs[-1].append((path, taken))
                count, left = count - taken, left - taken
        return [Assignment.of(self.levels, run) for run in runs]

    @classmethod
    def joined(cls, levels: tuple[str, ...], runs: Iterable[Assignment]) -> Assignment:
        """Runs of ranks one after the other; a domain that ends one and begins the next is listed once."""
        domains: list[tuple[Path, int]] = []
        for path, count in (domain for run in runs for domain in run.domains):
            if domains and domains[-1][0] == path:
                domains[-1] = path, domains[-1][1] + count
            else:
                domains.append((path, count))
        return cls.of(levels, domains)

    def slots(self) -> Iterator[Path]:
        """The domain of each rank, rank 0 first."""
        for path, count in self.domains:
            for _ in range(count):
                yield path


def assignment_levels(topology: Topology) -> tuple[str, ...]:
    """The levels an assignment names: only the hostname where it is the lowest level, otherwise all of them."""
    return (HOSTNAME,) if topology.ends_at_host else topology.levels
