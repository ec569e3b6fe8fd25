"""Draws docs/images/up.svg: the demo node-failure as `closeknit up` shows it, after two jobs have moved.

    .venv/bin/python docs/images/make.py

The demo is played in virtual time, so the picture takes a second and is the same every time.
"""

from __future__ import annotations

import io
import os
import time
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from closeknit.host.demos import DEMOS
from closeknit.host.demos.demo import PACE
from closeknit.host.demos.player import Player, begin
from closeknit.host.embedded import EmbeddedCluster, EmbeddedOptions
from closeknit.host.live_state import LiveState
from closeknit.host.virtual import VirtualClock, VirtualHost
from closeknit.report.live import view
from closeknit.report.picture import Access, Picture

START, MOMENT = 1_800_000_000.0, 41.0
WIDTH, HEIGHT = 100, 26
STATE = "~/.local/state/closeknit"
FORM = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: system-ui, sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""
THEME = TerminalTheme(
    (24, 26, 31),
    (214, 217, 222),
    [
        (24, 26, 31),
        (240, 97, 97),
        (110, 195, 110),
        (229, 181, 80),
        (96, 150, 230),
        (190, 120, 220),
        (90, 190, 200),
        (214, 217, 222),
    ],
)


def at(moment: float) -> Picture:
    """The picture of the demo after that many seconds."""
    live_states: list[LiveState] = []

    def prepare(cluster: EmbeddedCluster) -> None:
        live_states.append(LiveState(cluster, Access("https://127.0.0.1:40443", STATE, f"{STATE}/kubeconfig")))
        cluster.add(Player(cluster.store, DEMOS))
        cluster.watch(live_states[-1])

    host = VirtualHost(VirtualClock(START), EmbeddedOptions(pace=PACE, seed=1), perf_counter, prepare)
    (live_state,) = live_states
    host.decisions.listeners.append(live_state.add)
    begin(host.store, DEMOS["node-failure"])
    host.advance(moment)
    return live_state.picture()


def main() -> None:
    os.environ["TZ"] = "UTC"
    time.tzset()
    console = Console(
        width=WIDTH, height=HEIGHT, record=True, force_terminal=True, color_system="truecolor", file=io.StringIO()
    )
    console.print(view(at(MOMENT), WIDTH, HEIGHT))
    path = Path(__file__).with_name("up.svg")
    path.write_text(
        console.export_svg(title="closeknit up --demo node-failure", theme=THEME, code_format=FORM, unique_id="up")
    )
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
