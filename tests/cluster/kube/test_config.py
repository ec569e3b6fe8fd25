"""Kubeconfig as people have it."""

from __future__ import annotations

import asyncio
import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.cluster.embedded.certificate import credentials
from closeknit.cluster.kube.config import Config, read_config
from closeknit.cluster.kube.connection import credentials_of
from closeknit.model.mistake import InputError

PEM = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n"


def kubeconfig(**changes: Any) -> dict[str, Any]:
    return {
        "clusters": [{"name": "home", "cluster": {"server": "https://127.0.0.1:6443"}}],
        "users": [{"name": "me", "user": {"token": "secret"}}],
        "contexts": [{"name": "at-home", "context": {"cluster": "home", "user": "me"}}],
        "current-context": "at-home",
        **changes,
    }


def written(folder: Path, tree: Any, name: str = "config") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(tree))
    return path


def refused(*files: Path, context: str = "") -> str:
    with pytest.raises(InputError) as error:
        read_config(files, context)
    return str(error.value)


def test_the_current_context_says_server_token_and_namespace(tmp_path: Path) -> None:
    config = read_config([written(tmp_path, kubeconfig())])
    assert (config.server, config.token, config.namespace) == ("https://127.0.0.1:6443", "secret", "default")
    assert (config.context, config.source) == ("at-home", str(tmp_path / "config"))


def test_a_context_that_is_named_counts_instead_of_the_current_one(tmp_path: Path) -> None:
    tree = kubeconfig()
    other = {"cluster": "home", "user": "me", "namespace": "team-a"}
    tree["contexts"].append({"name": "at-work", "context": other})
    assert read_config([written(tmp_path, tree)], "at-work").namespace == "team-a"


def test_certificates_are_read_from_data_and_from_files_beside_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "client.crt").write_text(PEM)
    (tmp_path / "client.key").write_text("key")
    tree = kubeconfig(
        users=[{"name": "me", "user": {"client-certificate": "client.crt", "client-key": "client.key"}}],
    )
    tree["clusters"][0]["cluster"]["certificate-authority-data"] = base64.b64encode(PEM.encode()).decode()
    config = read_config([written(tmp_path, tree)])
    assert (config.authority, config.certificate, config.key) == (PEM, PEM, "key")


def test_the_file_of_a_token_counts_before_a_token_that_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "fresh").write_text("of-the-file")
    users = [{"name": "me", "user": {"token": "stale", "tokenFile": "fresh"}}]
    shown = credentials_of(read_config([written(tmp_path, kubeconfig(users=users))]))
    assert asyncio.run(shown.current()).token == "of-the-file"


def test_of_several_files_the_first_that_names_something_counts(tmp_path: Path) -> None:
    first = written(tmp_path, {"current-context": "at-home"}, "first")
    second = written(tmp_path, kubeconfig(**{"current-context": "elsewhere"}), "second")
    assert read_config([first, tmp_path / "missing", second]).context == "at-home"


def test_a_context_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    said = refused(written(tmp_path, kubeconfig()), context="at-hom")
    assert 'has no context "at-hom"; did you mean at-home? there are: at-home' in said


def test_without_a_current_context_one_has_to_be_named(tmp_path: Path) -> None:
    tree = kubeconfig()
    del tree["current-context"]
    assert "names no current context; choose one by --context: at-home" in refused(written(tmp_path, tree))


@pytest.mark.parametrize("field", ["auth-provider", "username", "password"])
def test_an_unsupported_kind_of_user_is_an_error(tmp_path: Path, field: str) -> None:
    said = refused(written(tmp_path, kubeconfig(users=[{"name": "me", "user": {field: "x"}}])))
    assert f"user me: {field}: is not supported" in said


def test_a_proxy_of_the_cluster_is_used(tmp_path: Path) -> None:
    cluster = {"server": "https://10.0.0.1:1", "proxy-url": "http://proxy:3128"}
    config = read_config([written(tmp_path, kubeconfig(clusters=[{"name": "home", "cluster": cluster}]))])
    assert config.proxy == "http://proxy:3128"


def test_a_proxy_that_we_cannot_use_is_refused_with_one_that_we_can(tmp_path: Path) -> None:
    cluster = {"server": "https://10.0.0.1:1", "proxy-url": "socks5://proxy:1080"}
    said = refused(written(tmp_path, kubeconfig(clusters=[{"name": "home", "cluster": cluster}])))
    assert "cluster home: proxy-url: a proxy with scheme socks5 is not supported, only http; give the address" in said


def test_impersonation_is_sent_in_headers(tmp_path: Path) -> None:
    user = {"token": "t", "as": "ann", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"some/key": ["x"]}}
    config = read_config([written(tmp_path, kubeconfig(users=[{"name": "me", "user": user}]))])
    assert config.acting_as == (
        ("Impersonate-User", "ann"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-some%2Fkey", "x"),
    )


def test_groups_without_a_user_to_act_as_are_refused(tmp_path: Path) -> None:
    said = refused(written(tmp_path, kubeconfig(users=[{"name": "me", "user": {"as-groups": ["a"]}}])))
    assert "user me: as: is missing" in said


def test_secrets_are_not_in_what_is_printed_of_a_config(tmp_path: Path) -> None:
    cluster = {"server": "https://10.0.0.1:1", "proxy-url": "http://ann:hidden-too@proxy:3128"}
    user = {"token": "hidden", "client-key-data": base64.b64encode(b"hidden-key").decode()}
    tree = kubeconfig(clusters=[{"name": "home", "cluster": cluster}], users=[{"name": "me", "user": user}])
    config = read_config([written(tmp_path, tree)])
    assert (config.token, config.key) == ("hidden", "hidden-key")
    assert "hidden" not in repr(config)


def test_a_certificate_that_is_none_is_refused_with_its_file(tmp_path: Path) -> None:
    tree = kubeconfig()
    tree["clusters"][0]["cluster"]["certificate-authority-data"] = base64.b64encode(PEM.encode()).decode()
    config = read_config([written(tmp_path, tree)])
    with pytest.raises(InputError, match=f"{tmp_path}/config: a certificate or key cannot be read"):
        config.tls()


def test_a_file_that_is_not_a_kubeconfig_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[1, 2")
    assert f"{tmp_path}/config: is not a kubeconfig" in refused(tmp_path / "config")
    assert "cannot be read: No such file or directory" in refused(tmp_path / "missing")


def test_an_address_that_is_none_is_refused_with_an_example(tmp_path: Path) -> None:
    said = refused(written(tmp_path, kubeconfig(clusters=[{"name": "home", "cluster": {"server": "127.0.0.1"}}])))
    assert 'cluster home: server: "127.0.0.1" is not an address; write one such as https://10.0.0.1:6443' in said


def test_data_that_is_not_base64_is_named(tmp_path: Path) -> None:
    tree = kubeconfig()
    tree["clusters"][0]["cluster"]["certificate-authority-data"] = "%%%"
    assert "certificate-authority-data: is not the Base64 of a PEM text" in refused(written(tmp_path, tree))


def test_a_client_certificate_is_loaded_and_leaves_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = credentials(tmp_path, 1_700_000_000.0)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    user = {"client-certificate": made.certificate.name, "client-key": made.key.name}
    config = read_config([written(tmp_path, kubeconfig(users=[{"name": "me", "user": user}]))])
    assert config.tls() is not None
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_server_name_and_whether_to_verify_it_are_read(tmp_path: Path) -> None:
    def read(**fields: Any) -> Config:
        cluster = {"server": "https://127.0.0.1:6443", **fields}
        return read_config([written(tmp_path, kubeconfig(clusters=[{"name": "home", "cluster": cluster}]))])

    assert (read().server_name, read().verify) == ("", True)
    found = read(**{"tls-server-name": "kube", "insecure-skip-tls-verify": True})
    assert (found.server_name, found.verify) == ("kube", False)
    tls = found.tls()
    assert tls is not None
    assert tls.verify_mode == ssl.CERT_NONE
