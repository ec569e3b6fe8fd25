"""Property tests: filtering is fine, time is not measured, and where CI=true every run tries the same examples."""

from __future__ import annotations

import gc
import os
import signal

from hypothesis import HealthCheck, settings

gc.set_threshold(50_000, 20, 20)  # hosts look for garbage as rarely

CHECKS = [HealthCheck.filter_too_much, HealthCheck.too_slow]
settings.register_profile("here", deadline=None, suppress_health_check=CHECKS)
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell: programs that tests start would not hear Ctrl-C either.
    signal.signal(signal.SIGINT, signal.default_int_handler)
