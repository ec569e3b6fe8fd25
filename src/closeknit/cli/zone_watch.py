"""`closeknit numa -w`: asks the control plane again and redraws what changed.

The view is computed where reports and pods are remembered, so this asks instead of watching objects itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..model.escaping import escaped
from ..observe.zone_views import ZoneViews
from .live import draw_again
from .rules import Given
from .zone_sources import check_node, served_view, view_of

if TYPE_CHECKING:
    from ..cluster.kube.client import Client

PAUSE, LONG_PAUSE = 1.0, 10.0
"""Seconds between two questions: to a control plane, and where all objects have to be listed."""


async def redraw(client: Client, given: Given, node: str, lines: Callable[[ZoneViews], Sequence[str]]) -> None:
    """Run until cancelled."""
    shown: list[str] = []
    while True:
        view = await served_view(client, node)
        pause = LONG_PAUSE if view is None else PAUSE
        if view is None:
            view = await view_of(client, given, node)
        check_node(view, node)
        found = [escaped(line) for line in lines(view)]
        if found != shown:
            draw_again(found, is_first=not shown)
            shown = found
        await asyncio.sleep(pause)
