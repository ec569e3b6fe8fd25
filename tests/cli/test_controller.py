"""`closeknit controller`, as far as it goes without a cluster."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from cli.conftest import Ran, Run
from cli.live import Live
from closeknit.cli.controller import command
from closeknit.cli.controlling import ControllerOptions, Controlling, log_to_stderr
from closeknit.cli.main import main
from closeknit.cluster.kube.config import Config, read_config
from closeknit.model.address import Address


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    for name in ("CLOSEKNIT_KUBECONFIG", "KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)

    def call(*args: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(["controller", *args])
        captured = capsys.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return call


def test_outside_of_a_pod_the_cluster_has_to_be_named(run: Run) -> None:
    ran = run()
    assert ran.code == 2
    assert ran.err == (
        "error: controller: does not run in a pod, and no cluster is given; give --kubeconfig FILE or --context NAME\n"
    )


class Asked(Exception):  # noqa: N818 - stops a run once the options are known
    """Carries the options with which a run would start."""


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Config, ControllerOptions]]:
    """The options that `closeknit controller` would run with, given these arguments."""

    def call(*args: str) -> tuple[Config, ControllerOptions]:
        def begin(_self: Controlling, config: Config, wishes: ControllerOptions) -> None:
            raise Asked(config, wishes)

        monkeypatch.setattr(Controlling, "__init__", begin)
        with pytest.raises(Asked) as asked:
            command.main(["--kubeconfig", "", *args], standalone_mode=False)
        config, wishes = asked.value.args
        return config, wishes

    return call


def test_in_a_pod_it_works_on_the_pods_cluster_and_in_its_namespace(
    begun: Callable[..., tuple[Config, ControllerOptions]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CLOSEKNIT_KUBECONFIG", raising=False)
    pod = Config("https://10.0.0.1:443", namespace="team", context="in-cluster")
    monkeypatch.setattr("closeknit.cli.controller.is_in_cluster", lambda: True)
    monkeypatch.setattr("closeknit.cli.controller.in_cluster_config", lambda: pod)
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nnamespace: other\n")
    config, wishes = begun("--config", str(file))
    assert (config, wishes.home, wishes.elects) == (pod, "team", True)
    assert not wishes.managed.namespaces.matches({"kubernetes.io/metadata.name": "team"})


def test_elsewhere_its_namespace_is_that_of_the_configuration_or_ours(
    begun: Callable[..., tuple[Config, ControllerOptions]], live: Live, tmp_path: Path
) -> None:
    given = ("--kubeconfig", live.kubeconfig)
    assert begun(*given)[1].home == "closeknit-system"
    file = tmp_path / "config.yaml"
    file.write_text(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nnamespace: other\n"
        "health: {healthProbeBindAddress: ':8081'}\nleaderElection: {leaderElect: true}\n"
    )
    _, wishes = begun(*given, "--config", str(file))
    assert (wishes.home, wishes.elects, wishes.health) == ("other", True, Address("", 8081))
    assert wishes.metrics is None
    _, wishes = begun(*given, "--metrics-address", "127.0.0.1:2")
    assert (wishes.health, wishes.metrics) == (None, Address("127.0.0.1", 2))
    _, wishes = begun(*given, "--config", str(file), "--no-leader-election", "--health-address", "127.0.0.1:1")
    assert (wishes.elects, wishes.health) == (False, Address("127.0.0.1", 1))


def test_a_configuration_that_is_wrong_is_refused_before_anything_else(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: config.closeknit.dev/v1alpha1\nkind: Configuration\nprofil: kueue\n")
    ran = run("--config", str(file), "--kubeconfig", "nowhere")
    assert ran.code == 2
    assert ran.err == (f"error: {file}:3:1: Configuration: profil: is not a known field; did you mean profile?\n")


@pytest.mark.parametrize("given", ["8081", "here:", ":x"])
def test_an_address_that_is_none_is_refused(run: Run, given: str) -> None:
    ran = run("--health-address", given)
    assert ran.code == 2
    assert "is not an address: give HOST:PORT, or :PORT for every interface" in ran.err


def test_a_port_in_use_is_reported(run: Run, live: Live) -> None:
    port = urlsplit(read_config([Path(live.kubeconfig)]).server).port
    ran = run("--kubeconfig", live.kubeconfig, "--health-address", f"127.0.0.1:{port}")
    assert ran.code == 4
    assert "cannot listen on " in ran.err
    assert "choose another --health-address" in ran.err


def test_an_embedded_host_has_a_control_plane_of_its_own(run: Run, live: Live) -> None:
    ran = run("--kubeconfig", live.kubeconfig)
    assert ran.code == 2
    assert "is an embedded host, which runs its own control plane; give a Kubernetes cluster" in ran.err


def test_an_unknown_user_does_not_wait_for_the_server(run: Run, live: Live, tmp_path: Path) -> None:
    tree = yaml.safe_load(Path(live.kubeconfig).read_text())
    tree["users"][0]["user"] = {"token": "wrong-token"}
    file = tmp_path / "other"
    file.write_text(json.dumps(tree))
    ran = run("--kubeconfig", str(file))
    assert ran.code == 4
    assert "wrong-token" not in ran.err


def test_each_log_entry_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info")
    logging.getLogger("closeknit.some").info("one\nand %s", "two")
    logging.getLogger("closeknit.some").debug("not this")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(" INFO    one and two")
