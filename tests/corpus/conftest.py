"""The corpus of Kueue's kinds, put to a server: the same verdict, the same field, the same object in the end.

    python -m pytest tests/corpus                                   on the rules of the embedded host
    CLOSEKNIT_CORPUS_KUBECONFIG=FILE python -m pytest tests/corpus  on a server that has our definitions

`python -m corpus.run` starts kube-apiserver, installs the definitions, and runs it on both. Without policies, which are
not part of the definitions, cases that need them are left out there; CLOSEKNIT_CORPUS_POLICIES=1 says that they are in,
and `corpus.run policies` puts them there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from closeknit.cluster.embedded.rules import HostRules
from cluster.embedded.rest.running import Running
from contract.client import Api
from contract.expect import namespace

VARIABLE = "CLOSEKNIT_CORPUS_KUBECONFIG"
POLICIES = "CLOSEKNIT_CORPUS_POLICIES"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """The embedded host has no rules in CEL."""
    return True if VARIABLE not in os.environ and collection_path.name == "test_rules.py" else None


@pytest.fixture(scope="session")
def is_real() -> bool:
    return VARIABLE in os.environ


@pytest.fixture(scope="session")
def api(is_real: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Nobody reacts to what is written: the host has its rules and no controllers."""
    if is_real:
        client = Api.from_kubeconfig(Path(os.environ[VARIABLE]))
        yield client
        client.close()
    else:
        with Running(tmp_path_factory.mktemp("host"), rules=HostRules()) as running:
            yield running.api


@pytest.fixture(scope="session")
def space(api: Api) -> Iterator[str]:
    with namespace(api) as name:
        yield name


@pytest.fixture(scope="session")
def said() -> dict[str, list[str]]:
    """By kind, what the server had against objects."""
    return {}
