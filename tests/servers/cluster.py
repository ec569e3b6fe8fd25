"""A real cluster of its own, for a test or for a person.

    with RealCluster() as cluster:
        make_nodes(cluster.api, racks=2, hosts=4)
        cluster.apply(Path("job.yaml"))
        cluster.kubeconfig   # a file; its user is in system:masters

Everything listens on loopback, on ports taken from the system, and keeps its files in one folder, logs included. The
processes are stopped in the reverse order of their start, the API server before etcd, and die with their parent.
"""

from __future__ import annotations

import base64
import json
import secrets
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

from contract.client import Api
from contract.objects import path

from . import manifests
from .audit import audit_flags, entries
from .build import binary
from .components import API_SERVER, CONTROLLER_MANAGER, ETCD, KWOK, RECIPES, SCHEDULER, Home, write_kubeconfig
from .credentials import kubeconfig_text, write_keys
from .definitions import definitions
from .manifests import Object
from .operators import OPERATORS, operator_kinds, operator_recipe
from .process import Process, Recipe, StartError

ALWAYS = (ETCD, API_SERVER)
USUAL = (CONTROLLER_MANAGER, SCHEDULER, KWOK)
ORDER = (*RECIPES, *OPERATORS)


class RealCluster:
    """Etcd, kube-apiserver, and those of `components` that are wanted: kube-…, kwok, jobset, lws, kueue.

    `flags` are added to the command lines, by component. `audit` names the user whose requests are logged.
    `fsync` makes etcd durable, for tests that restart it. `folder` stays; without one, a temporary folder goes.
    """

    running: ClassVar[list[RealCluster]] = []
    """The running clusters, whose logs are shown when a test fails."""

    def __init__(
        self,
        components: Iterable[str] = USUAL,
        *,
        flags: Mapping[str, Sequence[str]] | None = None,
        audit: str | None = None,
        fsync: bool = False,
        folder: Path | None = None,
    ) -> None:
        unknown = {*components, *(flags or {})} - set(ORDER)
        if unknown:
            raise ValueError(f"no component {', '.join(sorted(unknown))}; there are {', '.join(ORDER)}")
        self.components = [name for name in ORDER if name in {*ALWAYS, *components}]
        self._flags, self._audit, self._fsync, self._folder = dict(flags or {}), audit, fsync, folder
        self._open = ExitStack()
        self._processes: dict[str, Process] = {}

    def __enter__(self) -> RealCluster:
        for name in self.components:
            binary(name)
        with self._open:
            self._home = self._made_home()
            self._open.callback(self._stop_all)
            for name in self.components:
                self._begin(name)
            self.running.append(self)
            self._open.callback(self.running.remove, self)
            self._open = self._open.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    # How to get in

    @property
    def kubeconfig(self) -> Path:
        return self._home.kubeconfig

    @property
    def url(self) -> str:
        return self._home.url

    @property
    def folder(self) -> Path:
        return self._home.folder

    def kubeconfig_of(self, namespace: str, account: str, seconds: int = 3600) -> Path:
        """A kubeconfig of an existing service account, with a new token."""
        where = path("v1/serviceaccounts", namespace, account, "token")
        answer = self.api.post(where, {"spec": {"expirationSeconds": seconds}})
        assert answer.status == 201, answer.body
        file = self.folder / f"{namespace}-{account}.kubeconfig"
        file.write_text(kubeconfig_text(self.url, answer.body["status"]["token"], self._home.certificate))
        return file

    def kubectl(self, *words: str, text: str | None = None) -> str:
        """The output of kubectl, run as the administrator."""
        command = [str(binary("kubectl")), f"--kubeconfig={self.kubeconfig}", *words]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    # What is in it

    def apply(self, source: Path | str | Iterable[Object]) -> list[Object]:
        """Apply a file of manifests, their text, or objects; returns them as the server stores them."""
        objects = manifests.read(source) if isinstance(source, Path | str) else source
        return manifests.apply(self.api, objects)

    def define(self, *names: str) -> None:
        """Define kinds of other projects without their controllers: kueue, kuberay, … (versions.DEFINITIONS)."""
        manifests.define(self.api, chain.from_iterable(map(definitions, names)))

    def requests(self) -> list[dict[str, Any]]:
        """The requests of the user named by `audit` so far, in the order of the responses."""
        return entries(self._home.audit_log)

    # Its servers

    def stop(self, name: str) -> None:
        """Stop a component with SIGTERM. Etcd waits some seconds for an API server that it still serves."""
        self._processes[name].stop()

    def kill(self, name: str) -> None:
        """Kill a component with SIGKILL, as a crash would."""
        self._processes[name].kill()

    def start(self, name: str) -> None:
        """Start a component again with its old state; returns when it is ready."""
        self._processes[name].start()
        if name == ETCD and self._processes[API_SERVER].is_alive:
            self._processes[API_SERVER].await_ready()

    def restart(self, name: str) -> None:
        self.stop(name)
        self.start(name)

    def compact(self) -> int:
        """Make etcd forget everything before now; returns the revision up to which it did.

        The API server still remembers recent changes by itself, until it is restarted.
        """
        key = base64.b64encode(b"any").decode()
        revision = int(self._ask_etcd("range", {"key": key})["header"]["revision"])
        self._ask_etcd("compaction", {"revision": str(revision), "physical": True})
        return revision

    def memory(self) -> dict[str, int]:
        """Bytes of resident memory by component, of those that run."""
        return {name: process.memory for name, process in self._processes.items() if process.is_alive}

    def pids(self) -> dict[str, int]:
        return {name: process.pid for name, process in self._processes.items() if process.is_alive}

    def logs(self) -> dict[str, Path]:
        return {name: process.log for name, process in self._processes.items()}

    # How it comes and goes

    def _made_home(self) -> Home:
        folder = self._folder or Path(
            self._open.enter_context(tempfile.TemporaryDirectory(prefix="closeknit-cluster-"))
        )
        home = Home(folder.absolute(), secrets.token_hex(16), self._flags, self._fsync)
        home.logs.mkdir(parents=True, exist_ok=True)
        write_keys(home.folder, home.token)
        if self._audit:
            given = self._flags.get(API_SERVER, ())
            self._flags[API_SERVER] = [*audit_flags(home.folder, home.audit_log, self._audit), *given]
        return home

    def _begin(self, name: str) -> None:
        if name in OPERATORS:
            self._begin_operator(name)
        else:
            self._run(name, RECIPES[name])
        if name == API_SERVER:
            write_kubeconfig(self._home)
            self.api = Api.from_kubeconfig(self.kubeconfig)
            self._open.callback(self.api.close)

    def _begin_operator(self, name: str) -> None:
        """Start an operator: its kinds first, since it waits for them; its webhooks last, or they block its kinds."""
        operator, configurations = OPERATORS[name], list[Object]()
        self.apply(operator.first)
        manifests.define(self.api, operator_kinds(operator))

        def recipe(home: Home) -> Recipe:
            found, configurations[:] = operator_recipe(operator, home)
            return found

        self._run(name, recipe)
        self.apply(configurations)

    def _run(self, name: str, recipe: Callable[[Home], Recipe]) -> None:
        """Start a server; if another process took a port meanwhile, the server ends and is retried with other ports."""
        for last in (False, False, True):
            self._processes[name] = process = self._home.process(name, recipe(self._home))
            try:
                process.start()
                break
            except StartError:
                if last or process.is_alive:
                    raise

    def _stop_all(self) -> None:
        for process in reversed(self._processes.values()):
            process.stop()

    def _ask_etcd(self, verb: str, body: Object) -> Any:
        """Call etcd through its JSON gateway."""
        request = urllib.request.Request(f"{self._home.etcd}/v3/kv/{verb}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
