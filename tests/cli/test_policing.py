"""What the controller logs about its admission policies, and when it logs that again."""

from __future__ import annotations

import asyncio
import logging

import pytest

from closeknit.cli.policing import Policing
from closeknit.deploy.policies import AdmissionSettings, policies_hash
from deploy.server import Server

OURS = policies_hash(AdmissionSettings())


@pytest.fixture
def server() -> Server:
    """With our policies in force."""
    server = Server()
    server.hash = OURS
    return server


@pytest.fixture
def policing(server: Server, caplog: pytest.LogCaptureFixture) -> Policing:
    caplog.set_level(logging.DEBUG, "closeknit")
    return Policing(server, "closeknit-system", AdmissionSettings())


def looked(policing: Policing, caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """What one check logs: level and text."""
    caplog.clear()
    asyncio.run(policing.look())
    return [(one.levelname, one.getMessage()) for one in caplog.records]


def test_policies_of_this_configuration_are_in_force(policing: Policing, caplog: pytest.LogCaptureFixture) -> None:
    assert looked(policing, caplog) == [("INFO", "admission policies are in force and match the configuration")]
    assert looked(policing, caplog) == []


def test_policies_of_another_configuration_are_logged_once_with_the_remedy(
    server: Server, policing: Policing, caplog: pytest.LogCaptureFixture
) -> None:
    server.hash = "other"
    [(level, text)] = looked(policing, caplog)
    assert level == "WARNING"
    assert f"(hash other, expected {OURS})" in text
    assert "`closeknit install --config FILE`" in text
    assert looked(policing, caplog) == []
    server.hash = OURS
    assert [level for level, _ in looked(policing, caplog)] == ["INFO"]


def test_a_missing_verb_is_an_error_and_nothing_is_switched_off(
    server: Server, policing: Policing, caplog: pytest.LogCaptureFixture
) -> None:
    server.denied = {("create", "jobs")}
    [(level, text)] = looked(policing, caplog)
    assert level == "ERROR"
    assert text.startswith(
        "cannot determine whether the admission policies are in force: a dry run is not permitted: the verb create"
    )
    found = asyncio.run(policing.look())
    assert (found.works, found.known) == (True, False)


def test_lost_policies_are_logged_and_so_is_their_return(
    server: Server, policing: Policing, caplog: pytest.LogCaptureFixture
) -> None:
    looked(policing, caplog)
    server.suspends, server.hash = False, ""
    [(level, text)] = looked(policing, caplog)
    assert level == "WARNING"
    assert text.startswith("Closeknit's admission policies are no longer in force: a Job that names a queue is not")
    assert looked(policing, caplog) == []
    server.suspends, server.hash = True, OURS
    assert [level for level, _ in looked(policing, caplog)] == ["INFO"]
