"""The status page: a picture of a running cluster as one plain HTML page that reloads every few seconds.

It has no script and loads nothing else, so any browser that presents the token can show it.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from ..model.escaping import in_one_line
from ..model.quota import UNLIMITED
from ..model.resources import rough
from .picture import Block, Picture

REFRESH = 3
"""Seconds."""
MOST_DECISIONS = 25

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; color: #1f2328 }
table { border-collapse: collapse; margin: .5rem 0 1.5rem } td, th { padding: .15rem 1.2rem .15rem 0; text-align: left }
th { font-weight: 600; border-bottom: 1px solid #d0d7de } td.n { text-align: right } code { background: #f3f4f6 }
.said { background: #fff8c5; padding: .4rem .8rem }
@media (prefers-color-scheme: dark) { body { background: #0d1117; color: #e6edf3 } code { background: #21262d }
  .said { background: #3d3200 } th { border-color: #30363d } }
"""


def page(picture: Picture) -> str:
    access = picture.access
    parts = [
        f"<h1>closeknit {_shown(picture.version)}</h1>",
        f"<p>{_shown(access.address)}, up for {lasting(picture.now - picture.since)}, state in "
        f"<code>{_shown(access.folder)}</code></p>",
        f'<p class="said"><b>{_shown(picture.demo)}</b> {_shown(picture.says)}</p>' if picture.says else "",
        "<h2>Nodes</h2>",
        _table(("", "hosts", "busy", "failed"), map(_block, picture.blocks)),
        "<h2>Queues</h2>",
        _table(
            ("ClusterQueue", "resource", "used", "quota", "borrowed", "running", "waiting", "trouble"),
            (
                (
                    one.name,
                    one.resource,
                    rough(one.resource, one.used),
                    "unlimited" if one.quota >= UNLIMITED else rough(one.resource, one.quota),
                    rough(one.resource, one.borrowed),
                    one.running,
                    one.waiting,
                    one.trouble,
                )
                for one in picture.queues
            ),
        ),
        "<h2>Workloads</h2>",
        _table(("state", "count"), picture.workloads.items()),
        _table(
            ("job", "queue", "pods", "where, or what it waits for"),
            ((one.name, one.queue, one.pods, one.waits or one.where) for one in picture.jobs),
        ),
        f"<p>and {picture.more_jobs:,} more</p>" if picture.more_jobs else "",
        "<h2>Last decisions</h2>",
        _table(
            ("time (UTC)", "outcome", "job", "where or why", "cost"),
            (
                (moment(one.at), one.outcome, one.job, one.text, f"{one.cost} µs")
                for one in picture.decisions[: -MOST_DECISIONS - 1 : -1]
            ),
        ),
    ]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="{REFRESH}">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>closeknit</title><style>{_STYLE}</style></head>
<body>
{chr(10).join(part for part in parts if part)}
</body></html>
"""


def _block(block: Block) -> Sequence[object]:
    hosts = [host for rack in block.racks for host in rack.hosts]
    failed = sum(host.state in ("lost", "silent") for host in hosts)
    return block.name or "all", len(hosts), sum(host.share > 0 for host in hosts), failed


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table with right-aligned numbers; a sentence if there are no rows."""
    lines = ["<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows]
    if not lines:
        return "<p>none</p>"
    head = "".join(f"<th>{_shown(one)}</th>" for one in heads)
    return f"<table><tr>{head}</tr>\n{chr(10).join(lines)}</table>"


def _cell(value: object) -> str:
    kind = ' class="n"' if isinstance(value, int) else ""
    return f"<td{kind}>{_shown(str(value))}</td>"


def lasting(seconds: float) -> str:
    """lasting(3725) == "1 h 2 min"."""
    minutes, rest = divmod(int(max(0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")


def _shown(text: str) -> str:
    return html.escape(in_one_line(text))
