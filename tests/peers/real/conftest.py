"""Only where servers are built: see servers.real."""

from __future__ import annotations

from servers.failure_logs import pytest_runtest_makereport as pytest_runtest_makereport
from servers.real.conftest import pytest_ignore_collect as pytest_ignore_collect
