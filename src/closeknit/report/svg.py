"""The topology as a picture: nested boxes, one cell per leaf, coloured by usage.

Placed jobs can be drawn into it. It is plain SVG with fixed colours, so that it can be embedded in a document; viewers
do no layout, so sizes are computed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax import saxutils

from ..model.escaping import in_one_line
from ..model.resources import rough
from ..state.table import IntArray
from .census import Census, summed_up

CELL, GAP, PAD, TITLE = 14, 3, 8, 16
WIDTH = 1080
MOST_CELLS = 4000
MOST_NAMED = 7
JOBS = ("#d9480f", "#2b8a3e", "#862e9c", "#c2255c", "#e67700", "#5f3dc4")
SCALE = ("#e7f5ff", "#c5e4fb", "#91caf2", "#5aa9e0", "#2f7fc1", "#1c5c96")
OUT = "#dee2e6"


@dataclass(frozen=True)
class Box:
    """A drawn domain: its size, and its children with their offsets."""

    level: int
    domain: int
    width: int
    height: int
    inside: tuple[tuple[int, int, Box], ...] = ()


@dataclass(frozen=True)
class Drawing:
    """`jobs` are placed jobs with their pods per domain of the cells' level."""

    census: Census
    cells: int
    resource: str
    jobs: tuple[tuple[str, IntArray], ...] = ()

    def svg(self) -> str:
        boxes = [self._box(0, domain) for domain in range(len(self.census.nodes[0]))]
        placed, height = _flow(boxes, WIDTH - 2 * PAD)
        lines = [line for x, y, box in placed for line in self._draw(box, x + PAD, y + PAD + 40)]
        total = height + 2 * PAD + 40 + 24
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{total}" '
            f'viewBox="0 0 {WIDTH} {total}" font-family="system-ui, sans-serif" font-size="11">'
        )
        background = f'<rect width="{WIDTH}" height="{total}" fill="#ffffff"/>'
        return "\n".join([head, background, *self._legend(), *lines, "</svg>\n"])

    def _legend(self) -> Iterator[str]:
        levels = " / ".join(self.census.tree.topology.levels[: self.cells + 1])
        each = self.census.tree.topology.levels[self.cells]
        head = f"{levels} (a cell is one {each.rsplit('/', 1)[-1]})"
        yield f'<text x="{PAD}" y="18" font-size="13" font-weight="600">{_shown(head)}</text>'
        yield f'<text x="{PAD}" y="34" fill="#495057">{_shown(self.resource)} in use, 0 %</text>'
        x = PAD + 70 + 7 * len(self.resource)
        for colour in SCALE:
            yield f'<rect x="{x}" y="24" width="18" height="12" fill="{colour}" stroke="#adb5bd"/>'
            x += 20
        yield f'<text x="{x + 4}" y="34" fill="#495057">100 %</text>'
        x += 56
        named = [(OUT, "out or none"), *((JOBS[i % len(JOBS)], name) for i, (name, _) in enumerate(self.jobs))]
        for colour, name in named[:MOST_NAMED]:
            yield f'<rect x="{x}" y="24" width="18" height="12" fill="{colour}" stroke="#adb5bd"/>'
            yield f'<text x="{x + 24}" y="34" fill="#495057">{_shown(name)}</text>'
            x += 36 + 7 * len(name)

    def _box(self, level: int, domain: int) -> Box:
        if level == self.cells:
            return Box(level, domain, CELL, CELL)
        first, last = self.census.tree.first[level][domain : domain + 2].tolist()
        children = [self._box(level + 1, child) for child in range(first, last)]
        across = 8 * (CELL + GAP) if level + 1 == self.cells else WIDTH // 2 - 4 * PAD
        title = 7 * len(self.census.tree.values[level][domain])
        placed, height = _flow(children, across)
        width = max([x + box.width for x, _, box in placed] + [title])
        inside = tuple((x + PAD, y + PAD + TITLE, box) for x, y, box in placed)
        return Box(level, domain, width + 2 * PAD, height + 2 * PAD + TITLE, inside)

    def _draw(self, box: Box, x: int, y: int) -> Iterator[str]:
        if box.level == self.cells:
            yield self._cell(box.domain, x, y)
            return
        name = _shown(self.census.tree.values[box.level][box.domain])
        size = f'width="{box.width}" height="{box.height}"'
        yield f'<rect x="{x}" y="{y}" {size} rx="4" fill="#f8f9fa" stroke="#adb5bd"/>'
        yield f'<text x="{x + PAD}" y="{y + TITLE}" fill="#343a40">{name}</text>'
        for dx, dy, child in box.inside:
            yield from self._draw(child, x + dx, y + dy)

    def _cell(self, domain: int, x: int, y: int) -> str:
        census, level = self.census, self.cells
        at = census.resources.index(self.resource)
        whole, used = int(census.allocatable[level][at, domain]), int(census.used[level][at, domain])
        if whole <= 0:
            colour = OUT
        else:
            colour = SCALE[min(len(SCALE) - 1, max(0, -(-used * (len(SCALE) - 1) // whole)))]
        place = f'x="{x}" y="{y}" width="{CELL}" height="{CELL}"'
        note = f"{'/'.join(census.tree.path(level, domain))}: {rough(self.resource, whole - used)} of "
        note += f"{rough(self.resource, whole)} {self.resource} free"
        here = [(number, name, int(pods[domain])) for number, (name, pods) in enumerate(self.jobs) if pods[domain]]
        note += "".join(f", {pods} pods of {name}" for _, name, pods in here)
        title = f"<title>{_shown(note)}</title>"
        if not here:
            return f'<rect {place} rx="2" fill="{colour}" stroke="#868e96" stroke-width="0.5">{title}</rect>'
        job = JOBS[here[0][0] % len(JOBS)]
        return f'<rect {place} rx="2" fill="{job}" stroke="{colour}" stroke-width="2">{title}</rect>'


def _flow(boxes: list[Box], width: int) -> tuple[list[tuple[int, int, Box]], int]:
    """Boxes left to right in rows, like words in a paragraph, and the total height."""
    placed: list[tuple[int, int, Box]] = []
    x = y = row = 0
    for box in boxes:
        if x and x + box.width > width:
            x, y, row = 0, y + row + GAP, 0
        placed.append((x, y, box))
        x, row = x + box.width + GAP, max(row, box.height)
    return placed, y + row


def cell_level(census: Census) -> int:
    """The lowest level with few enough domains to draw each one."""
    sizes = [len(column) for column in census.nodes]
    return max((level for level, size in enumerate(sizes) if size <= MOST_CELLS), default=0)


def draw(census: Census, resource: str, level: int | None = None, jobs: Sequence[tuple[str, IntArray]] = ()) -> str:
    """The picture; `jobs` are placed jobs with their pods per leaf."""
    cells = cell_level(census) if level is None else level
    summed = tuple((name, summed_up(census.tree, pods)[cells]) for name, pods in jobs)
    return Drawing(census, cells, resource, summed).svg()


def _shown(text: str) -> str:
    """Text in XML, which does not allow control characters at all."""
    return saxutils.escape(in_one_line(text))
