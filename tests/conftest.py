"""Property tests: filtering is fine, time is not measured, and where CI=true every run tries the same examples.

What is left out for want of a real cluster is said at the end.
"""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from closeknit.cli import hints

gc.set_threshold(50_000, 20, 20)  # hosts look for garbage as rarely

CHECKS = [HealthCheck.filter_too_much, HealthCheck.too_slow]
settings.register_profile("here", deadline=None, suppress_health_check=CHECKS)
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell: programs that tests start would not hear Ctrl-C either.
    signal.signal(signal.SIGINT, signal.default_int_handler)

REAL = "CLOSEKNIT_REAL"


@pytest.fixture(autouse=True)
def _no_advice_about_another_cluster() -> None:
    """Messages name the cluster of the last command that ran in this process."""
    hints.forget()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tests of a real cluster are not collected without one; a message says so if such tests were selected."""
    if REAL in os.environ:
        return
    here = Path(__file__).parent
    asked = [(config.invocation_params.dir / one.partition("::")[0]).resolve() for one in config.args]
    folders = [one for one in (here / "real", *sorted(here.glob("*/real"))) if (one / "conftest.py").exists()]
    left = [one for one in folders if any(one.is_relative_to(place) or place.is_relative_to(one) for place in asked)]
    if left:
        names = " ".join(str(one.relative_to(here.parent)) for one in left)
        how = f"{REAL}=1 python -m pytest FOLDER, or make test-cluster"
        terminalreporter.write_line(f"SKIPPED, LOUDLY: {names}: they need servers that are built with Go; {how}")
