"""Inside of a pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from closeknit.cluster.kube.in_cluster import in_cluster_config, is_in_cluster
from closeknit.model.mistake import InputError

ENVIRON = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    for name, text in (("token", "t\n"), ("ca.crt", "PEM"), ("namespace", "team-a\n")):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_environment_names_the_server_and_files_the_rest(account: Path) -> None:
    config = in_cluster_config(ENVIRON, account)
    assert (config.server, config.authority, config.namespace) == ("https://10.96.0.1:443", "PEM", "team-a")
    assert (config.token, config.token_file) == ("", str(account / "token"))
    assert is_in_cluster(ENVIRON, account)


def test_an_address_of_ipv6_gets_its_brackets(account: Path) -> None:
    environ = {**ENVIRON, "KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert in_cluster_config(environ, account).server == "https://[fd00::1]:443"


def test_without_a_namespace_it_is_the_default(account: Path) -> None:
    (account / "namespace").unlink()
    assert in_cluster_config(ENVIRON, account).namespace == "default"


def test_outside_of_a_pod_the_missing_part_is_named(account: Path) -> None:
    with pytest.raises(InputError, match="KUBERNETES_SERVICE_HOST is not set: this is not a pod; run it in a pod"):
        in_cluster_config({}, account)
    (account / "token").unlink()
    with pytest.raises(InputError, match=f"{account}/token: does not exist; run it in a pod with a ServiceAccount"):
        in_cluster_config(ENVIRON, account)
    assert not is_in_cluster(ENVIRON, account)
    assert not is_in_cluster({}, account)
