"""The contract of the API's semantics: what a client may rely on, whichever server answers.

    CLOSEKNIT_CONTRACT_KUBECONFIG=FILE python -m pytest tests/contract

The suite is given a kubeconfig and nothing else. It makes its own namespaces and nodes under random names and removes
them. Every expectation was seen on kube-apiserver with kube-controller-manager before it was written down; where
the exact words of a message do not matter to clients, code, reason and the fields named are asserted, the words are
not. Pods name a scheduler that does not exist and Jobs, where it matters, a manager that does not exist, so that
controllers which happen to run leave them alone.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contract.client import Answer, Api
from contract.expect import namespace

VARIABLE = "CLOSEKNIT_CONTRACT_KUBECONFIG"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if VARIABLE not in os.environ and collection_path.name.startswith("test_") else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if VARIABLE not in os.environ:
        terminalreporter.write_line(
            f"SKIPPED, LOUDLY: the contract suite has no server; set {VARIABLE} to a kubeconfig"
        )


@pytest.fixture(scope="session")
def api() -> Iterator[Api]:
    client = Api.from_kubeconfig(Path(os.environ[VARIABLE]))
    yield client
    client.close()


@pytest.fixture(scope="module")
def space(api: Api) -> Iterator[str]:
    """A namespace that the tests of one module share."""
    with namespace(api) as name:
        yield name


@pytest.fixture
def own_space(api: Api) -> Iterator[str]:
    """A namespace for one test alone, for lists and collections."""
    with namespace(api) as name:
        yield name


@pytest.fixture
def name() -> str:
    """A unique name."""
    return f"x{secrets.token_hex(5)}"


@pytest.fixture
def shared(api: Api) -> Iterator[Callable[[str, Any], Answer]]:
    """Create an object outside of namespaces; it goes when the test ends."""
    made: list[str] = []

    def create(path: str, body: Any) -> Answer:
        answer = api.post(path, body)
        assert answer.status == 201, answer.body
        made.append(f"{path}/{answer.body['metadata']['name']}")
        return answer

    yield create
    for path in made:
        api.delete(path)
