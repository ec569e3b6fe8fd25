"""`closeknit up` as a user runs it: a separate process with its own folder, stopped by a signal."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
import yaml

from closeknit.cli.main import main
from contract.client import Api

Raw = dict[str, Any]

PATIENCE = 120.0
NODES, JOBS = "/api/v1/nodes", "/apis/batch/v1/namespaces/default/jobs"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
POOL = "racks: 2\nnodesPerRack: 3\nnode: {cpu: 8, memory: 32Gi}\n"
SMALLEST_PIPE = 4096


class Up:
    """A process of `closeknit up`; its output is read at the end, unless `stdout` says otherwise."""

    def __init__(self, folder: Path, *options: str, stdout: int = subprocess.PIPE, env: dict[str, str] | None = None):
        self.folder = folder
        command = [sys.executable, "-m", "closeknit", "up", *options]
        if env is None:
            command += ["--data", str(folder)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONIOENCODING": "utf-8", **(env or {})},
        )

    def api(self) -> Api:
        """The API, once it answers."""
        end = monotonic() + PATIENCE
        while monotonic() < end and self.process.poll() is None:
            with suppress(OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
                api = Api.from_kubeconfig(self.folder / "kubeconfig")
                if api.get("/readyz").status == 200:
                    return api
            sleep(0.02)
        raise AssertionError(f"it does not answer: {self.end()}")

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Stop it; its exit code, stdout and stderr."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, (out or b"").decode(), err.decode()

    def end_of_itself(self) -> tuple[int, str, str]:
        """Wait until it exits by itself; its exit code, stdout and stderr."""
        self.process.wait(PATIENCE)
        return self.end()


Start = Callable[..., Up]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Up] = []

    def begin(*options: str, folder: Path | None = None, **how: Any) -> Up:
        started.append(Up(folder or tmp_path / "state", *options, **how))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()
        for stream in (one.process.stdout, one.process.stderr):
            if stream is not None:
                stream.close()


def until(look: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    end = monotonic() + seconds
    while monotonic() < end:
        found = look()
        if found:
            return found
        sleep(0.05)
    raise AssertionError("it did not come to that in time")


def names(answer: Any) -> list[str]:
    return [one["metadata"]["name"] for one in answer.body["items"]]


def a_job(name: str, pods: int = 1, queue: str = "default") -> Raw:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


def admitted(api: Api) -> int:
    return sum(
        any(one["type"] == "Admitted" and one["status"] == "True" for one in raw["status"].get("conditions", ()))
        for raw in api.get(WORKLOADS).body["items"]
        if "status" in raw
    )


# Start and stop


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_at_the_address_of_its_kubeconfig_until_it_is_stopped(start: Start, number: int) -> None:
    up = start("--port", "0")
    assert len(names(up.api().get(NODES))) == 8
    code, out, err = up.end(number)
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("closeknit 0.1.0 serves https://127.0.0.1:")
    assert out.splitlines()[1] == f"export KUBECONFIG={up.folder}/kubeconfig"


def test_only_the_owner_can_read_the_folder(start: Start) -> None:
    up = start()
    up.api()
    assert up.folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in up.folder.iterdir()}["kubeconfig"] == 0o600


def test_an_empty_folder_starts_with_first_steps_and_prints_every_decision(start: Start) -> None:
    up = start()
    api = up.api()
    until(lambda: admitted(api) == 2 and len(names(api.get(WORKLOADS))) == 3)
    code, out, _ = up.end()
    assert code == 0
    told = [line[10:] for line in out.splitlines()[2:]]
    assert told[0].startswith("demo       8 hosts in 2 racks, and a queue")
    assert [line.partition("  (")[0] for line in told if line.startswith("Admitted")] == [
        "Admitted   train  2 hosts in b1-r1",
        "Admitted   tune  3 hosts in b1-r2",
    ]


def test_the_usual_folder_is_where_other_commands_look(start: Start, tmp_path: Path) -> None:
    up = start(folder=tmp_path / "closeknit", env={"XDG_STATE_HOME": str(tmp_path)})
    up.api()
    command = [sys.executable, "-m", "closeknit", "get", "nodes", "-o", "name"]
    ran = subprocess.run(
        command, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)}, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0
    assert "node/b1-r1-n1" in ran.stdout


def test_its_own_nodes_make_a_cluster(start: Start, tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text(POOL)
    up = start("--nodes", str(tmp_path / "pool.yaml"))
    api = up.api()
    assert len(names(api.get(NODES))) == 6
    assert api.post(JOBS, a_job("mine", pods=2)).status == 201
    until(lambda: admitted(api) == 1)
    code, _, err = up.end()
    assert code == 0
    assert err.splitlines()[0].startswith("note: 6 nodes; levels from their labels: ")


# One host per folder, one port per host


def test_a_folder_is_used_by_one_process_at_a_time(start: Start) -> None:
    up = start()
    up.api()
    code, out, err = start().end_of_itself()
    assert (code, out) == (4, "")
    assert err == f"error: {up.folder}: another process uses this folder; stop it, or choose another folder\n"
    assert up.api().get("/readyz").status == 200


def test_a_port_that_is_taken_is_refused_and_nothing_is_left_behind(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        up = start("--port", str(port))
        code, out, err = up.end_of_itself()
    assert (code, out) == (4, "")
    assert err == f"error: port {port} is in use; choose another --port, or omit it\n"
    assert not up.folder.exists()


def test_a_folder_that_found_its_port_taken_can_begin_with_anything_later(start: Start, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = start("--port", str(taken.getsockname()[1])).end_of_itself()
    assert (code, "is in use" in err) == (4, True)
    later = start("--demo", "rank-drift")
    assert len(names(later.api().get(NODES))) == 3
    assert later.end()[2] == ""


def test_a_restart_goes_on_and_kubeconfigs_that_were_copied_stay_true(start: Start, tmp_path: Path) -> None:
    up = start()
    api = up.api()
    api.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}})
    until(lambda: admitted(api) == 1)
    shutil.copy(up.folder / "kubeconfig", tmp_path / "copied")
    up.end()
    again = start("--demo", "gpu-block")
    again.api()
    old = Api.from_kubeconfig(tmp_path / "copied")
    assert old.get("/api/v1/namespaces/mine").status == 200
    assert len(names(old.get(NODES))) == 8
    assert "<td>Admitted</td><td>train</td><td>2 hosts in b1-r1</td>" in old.get("/", accept="text/html").body
    code, _, err = again.end()
    assert code == 0
    assert err == (
        f"note: continuing the cluster in {up.folder}: --demo gpu-block is ignored; --data DIR starts a new one\n"
    )


def test_ignored_nodes_are_not_reported_as_created(start: Start, tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text(POOL)
    up = start()
    up.api()
    up.end()
    again = start("--nodes", str(tmp_path / "pool.yaml"))
    assert len(names(again.api().get(NODES))) == 8
    assert again.end()[2] == (
        f"note: continuing the cluster in {up.folder}: --nodes is ignored; --data DIR starts a new one\n"
    )


def test_asking_again_for_the_demo_that_plays_is_fine(start: Start) -> None:
    up = start("--demo", "rank-drift")
    up.api()
    up.end()
    again = start("--demo", "rank-drift")
    assert len(names(again.api().get(NODES))) == 3
    assert again.end()[2] == ""


def test_where_the_port_of_last_time_is_taken_another_is_used(start: Start) -> None:
    up = start()
    port = up.api().port
    up.end()
    with socket.create_server(("127.0.0.1", port)):
        again = start()
        until(lambda: f":{port}" not in (again.folder / "kubeconfig").read_text())
        assert again.api().port != port
        assert again.end()[2] == f"note: port {port} of the previous run is in use; use the new kubeconfig\n"


# Unusual folders


def test_a_folder_that_others_can_list_is_used_with_a_note(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(0o755)
    up = start()
    up.api()
    code, _, err = up.end()
    assert code == 0
    assert err == (
        f"note: other users can list {folder} (0755), though they cannot read its tokens, key and state; "
        "chmod 700 prevents that\n"
    )
    open_to_others = [path.name for path in folder.iterdir() if path.stat().st_mode & 0o077]
    assert open_to_others in ([], ["tls.crt"])


def test_a_world_writable_folder_is_rejected(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(0o1777)
    code, _, err = start().end_of_itself()
    assert code == 2
    assert err == (
        f"error: {folder}: every user may write here, so keys and state are not safe; "
        f"choose a folder of your own, such as {folder / 'closeknit'}\n"
    )
    assert list(folder.iterdir()) == []


def test_a_file_is_no_folder(start: Start, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("mine")
    code, _, err = start().end_of_itself()
    assert (code, "is a file" in err) == (2, True)
    assert (tmp_path / "state").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_refused_with_a_reason(start: Start) -> None:
    code, _, err = start(folder=Path("/proc/closeknit")).end_of_itself()
    assert code == 2
    assert err == "error: /proc/closeknit: cannot be used: No such file or directory; choose another folder\n"


def test_a_folder_of_a_newer_version_is_left_alone(start: Start) -> None:
    up = start()
    up.api()
    up.end()
    state = up.folder / "state.db"
    with sqlite3.connect(state) as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    before = state.read_bytes()
    code, _, err = start().end_of_itself()
    assert code == 2
    assert "written by a newer closeknit: its format is 99" in err
    assert state.read_bytes() == before


@pytest.mark.parametrize("left", ['{"clusters": [{"clus', "", "[]", "\0\0"])
def test_a_partial_kubeconfig_is_rewritten(start: Start, left: str) -> None:
    up = start()
    up.api()
    up.end()
    (up.folder / "kubeconfig").write_text(left)
    again = start()
    assert len(names(again.api().get(NODES))) == 8
    assert again.end()[2] == ""


# Wrong usage


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--nodes", "pool.yaml", "--demo", "rank-drift"), "--nodes cannot be combined with --demo"),
        (("--demo", "no-such"), "'no-such' is not one of"),
        (("--nodes", "missing.yaml"), "there is no such file"),
        (("--port", "70000"), "70000 is not in the range"),
        (("--feature-gates", "NoSuchGate=true"), "NoSuchGate"),
        (("--config", "pool.yaml"), "is not a Kubernetes object"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_made(
    options: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pool.yaml").write_text(POOL)
    with pytest.raises(SystemExit) as ended:
        main(["up", "--data", "state", *options])
    captured = capsys.readouterr()
    assert (ended.value.code, captured.out) == (2, "")
    assert words in captured.err
    assert not Path("state").exists()


def test_the_help_lists_the_demos_with_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["up", "--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    for name in ("first-steps", "gpu-block", "node-failure", "rank-drift", "provisioning", "numa"):
        assert re.search(rf"^    {name} +\w", out, re.MULTILINE)


# Readers


def test_a_slow_reader_does_not_block_the_host(start: Start, tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text(POOL)
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
    up = start("--nodes", str(tmp_path / "pool.yaml"), stdout=write)
    os.close(write)
    api = up.api()
    for number in range(120):
        assert api.post(JOBS, a_job(f"job-{number:03d}")).status == 201
    until(lambda: admitted(api) >= 40)
    assert api.get("/readyz").status == 200
    begin = monotonic()
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(PATIENCE) == 0
    assert monotonic() - begin < 10
    os.close(read)


def test_it_stops_quietly_when_the_reader_closes_the_pipe(start: Start) -> None:
    """The reader closes the pipe as `| head` does, even if no further line is printed for minutes."""
    read, write = os.pipe()
    up = start(stdout=write)
    os.close(write)
    api = up.api()
    until(lambda: admitted(api) == 2)
    os.close(read)
    assert up.process.wait(10) == 0
    assert up.end() == (0, "", "")
    again = start()
    assert admitted(again.api()) == 2


def test_lines_in_a_file_end_with_the_command_to_continue(start: Start, tmp_path: Path) -> None:
    with (tmp_path / "said").open("wb") as file:
        up = start(stdout=file.fileno())
    up.api()
    assert up.end()[0] == 0
    last = (tmp_path / "said").read_text().splitlines()[-1]
    assert last == f"stopped; the cluster is saved in {up.folder}; continue with: closeknit up --data {up.folder}"


def test_lines_are_in_the_encoding_of_stdout(start: Start, tmp_path: Path) -> None:
    env = {"PYTHONIOENCODING": "ascii", "XDG_STATE_HOME": str(tmp_path)}
    up = start(folder=tmp_path / "closeknit", env=env)
    api = up.api()
    until(lambda: admitted(api) == 1)
    code, out, err = up.end()
    assert (code, err) == (0, "")
    assert out.isascii()
    assert re.search(r"Admitted   train  2 hosts in b1-r1  \(\d+ us\)", out)
    assert out.splitlines()[-1] == f"stopped; the cluster is saved in {tmp_path}/closeknit; continue with: closeknit up"


# The status page


def test_the_status_page_needs_the_token(start: Start) -> None:
    api = start("--demo", "rank-drift").api()
    until(lambda: "3 hosts in 1 rack." in api.get("/", accept="text/html").body)
    page = api.get("/", accept="text/html")
    assert page.status == 200
    assert page.headers["Content-Type"].startswith("text/html")
    assert "<h1>closeknit 0.1.0</h1>" in page.body
    assert "<script" not in page.body
    assert api.as_user(None).get("/", accept="text/html").status == 401
    assert json.dumps(api.get("/").body["paths"])


# Settings


def test_a_configuration_of_kueue_is_applied(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmanageJobsWithoutQueueName: true\n"
    )
    (tmp_path / "pool.yaml").write_text(POOL)
    api = start("--nodes", str(tmp_path / "pool.yaml"), "--config", str(path)).api()
    job = a_job("unnamed")
    del job["metadata"]["labels"]
    made = api.post(JOBS, job)
    assert made.body["spec"]["suspend"] is True
