"""One run of the controller process, from its first request to its exit code.

    listen ──▶ reach the server ──▶ no Kueue ──▶ check policies ──▶ run the host ──▶ stop signal, or leadership lost

It logs to stderr, one line per event, and logs what it waits for once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from uuid import uuid4

import click
import msgspec

from .. import __version__
from ..cluster.errors import Forbidden, Refused
from ..cluster.kube.arrival import arrival
from ..cluster.kube.client import Client
from ..cluster.kube.config import Config
from ..cluster.kube.election import Elector, LeadershipLost, Timing
from ..cluster.kube.limits import Bucket, Limits
from ..cluster.kube.unreachable import Unreachable
from ..controller.decision_log import Record
from ..deploy.policies import AdmissionSettings as Rules
from ..host.decisions import Decisions, Memory
from ..host.health import Health
from ..host.kubernetes import KubernetesHost, KubernetesOptions
from ..host.kueue_detection import HOME, detect_kueue
from ..host.outbox import PATIENCE
from ..model.address import Address
from ..model.gates import Gates
from ..model.mistake import refuse
from ..observe.live_jobs import Managed
from ..write.token_bucket import Rate
from .configuration import Configured
from .exit_codes import REPLACED, YES
from .policing import Policing
from .target import NoCluster, is_embedded

log = logging.getLogger("closeknit")

POD_NAME = "POD_NAME"
"""The environment variable in which the Deployment passes the pod's name."""
QUIET = ("Waits", "Retries")
"""Frequent outcomes, logged at debug level; the Workload's status has the same text."""
REVIEW_TIME = 10.0
"""Seconds for the API server to review a token."""
RECHECK, RARELY = 10.0, 30.0
"""Seconds between checks of the policies: while they are not as wanted, and once they are."""


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """The effective options of one run; `home` is the controller's own namespace."""

    configured: Configured
    gates: Gates
    managed: Managed
    home: str
    elects: bool
    health: Address | None
    metrics: Address | None
    log_level: str


class Controlling:
    """One run of the controller: construct it and await `live`."""

    def __init__(self, config: Config, wishes: ControllerOptions) -> None:
        self.config, self.wishes = config, wishes
        self.decisions = Decisions(Memory())
        self.health = Health(self.decisions)
        self.host: KubernetesHost | None = None
        self.restarts = False
        self._task: asyncio.Task[None] | None = None
        self._asked = 0
        self.decisions.listeners += [self.health.metrics.decided, _log_decision]

    async def live(self) -> int:
        """Run until stopped; return the exit code."""
        log_to_stderr(self.wishes.log_level)
        loop = asyncio.get_running_loop()
        for one in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(one, self._stop, one.name)
        loop.add_signal_handler(signal.SIGUSR2, self._dump)
        await self._listen()
        self._task = asyncio.create_task(self._run())
        if self._asked:
            self._task.cancel()
        try:
            await self._task
        except LeadershipLost as lost:
            log.error("%s: exiting, to be restarted", lost)
            return REPLACED
        except asyncio.CancelledError:
            if not self._asked:
                raise
        finally:
            await self.health.stop()
        if self.restarts:
            return REPLACED
        log.info("stopped")
        return YES

    def _stop(self, name: str) -> None:
        """Stop gracefully on the first signal, at once on the second."""
        self._asked += 1
        log.info("%s: stopping", name)
        if self.host is not None and self.host.is_synced and self._asked == 1:
            self.host.stop()
        elif self._task is not None:
            self._task.cancel()

    def _dump(self) -> None:
        """Write the state as one line to stdout, which has no other output."""
        if self.host is None:
            log.info("SIGUSR2: no state to dump yet")
            return
        click.echo(msgspec.json.encode(self.host.dump()).decode())

    async def _listen(self) -> None:
        try:
            ports = await self.health.start(self.wishes.health, self.wishes.metrics)
        except OSError as error:
            given = " or ".join(str(one) for one in (self.wishes.health, self.wishes.metrics) if one is not None)
            remedy = "choose another --health-address or --metrics-address, each with a port of its own"
            raise NoCluster(f"cannot listen on {given}: {error.strerror or error}; {remedy}") from None
        if ports:
            log.info("serving health and metrics on port %s", " and ".join(map(str, ports)))

    async def _run(self) -> None:
        log.info("closeknit %s on %s", __version__, self.config.server)
        await self._reach()
        connection, own = self.wishes.configured.kueue.connection, self.wishes.configured.own
        limits = Limits(connection.qps, connection.burst, Bucket(own.writes_per_second))
        async with (
            Client(
                self.config, lambda text: log.debug("server warning: %s", text), retries=PATIENCE, limits=limits
            ) as client,
            Client(self.config, timeout=REVIEW_TIME) as reviews,
        ):
            await self._check(client)
            policing = self._policing(client)
            options = await self._options(policing)
            self.host = KubernetesHost(client, options, self._elector(client), self.decisions)
            self.health.host, self.health.access.client = self.host, reviews
            looking = asyncio.create_task(self._look_at_policies(policing, options.managed))
            try:
                await self.host.run()
            except (Refused, LeadershipLost):
                raise
            except Exception:
                log.exception("internal error")
                raise
            finally:
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)

    # Before it starts

    async def _reach(self) -> None:
        async with Client(self.config) as client:
            await arrival(
                client, lambda why: log.warning("waiting for the API server, which does not answer yet: %s", why)
            )
            with suppress(Forbidden):
                if await is_embedded(client):
                    text = "is an embedded host, which runs its own control plane"
                    raise refuse(text, "give a Kubernetes cluster", what=self.config.server)

    async def _check(self, client: Client) -> None:
        found = await detect_kueue(client, dict.fromkeys((HOME, self.wishes.home)))
        if found is not None:
            raise NoCluster(str(found))

    def _policing(self, client: Client) -> Policing:
        managed = self.wishes.managed
        trusted = self.wishes.configured.own.trusted
        rules = Rules(self.wishes.gates, managed.frameworks, managed.namespaces, managed.without_queue, trusted=trusted)
        return Policing(client, self.wishes.home, rules)

    async def _options(self, policing: Policing) -> KubernetesOptions:
        managed = self.wishes.managed
        if not await policing.look():
            managed = managed.without_gates()
            if managed.ungated:
                log.warning(
                    "Closeknit's admission policies are not in force: %s cannot be queued and are not managed; jobs of "
                    "other kinds are suspended after they are created. Install the policies with `closeknit install`, "
                    "or remove these kinds from integrations.frameworks",
                    ", ".join(sorted(managed.ungated)),
                )
        rate = self.wishes.configured.own.events_per_second or inf
        return KubernetesOptions(self.wishes.gates, self.wishes.configured.settings, managed, Rate(rate))

    def _elector(self, client: Client) -> Elector | None:
        election = self.wishes.configured.kueue.election
        if not self.wishes.elects:
            return None
        said: set[str] = set()

        def complain(error: Exception) -> None:
            if str(error) not in said:
                said.add(str(error))
                log.warning("Lease %s/%s: %s", home, election.name, error)

        home = election.namespace or self.wishes.home
        identity = f"{os.environ.get(POD_NAME) or socket.gethostname()}_{uuid4()}"
        timing = Timing(election.duration, election.deadline, election.retry)

        def told(leader: str) -> None:
            log.info("this process leads" if leader == identity else f"{leader} leads" if leader else "no leader")

        return Elector(client, election.name, home, identity, timing, on_change=told, complain=complain)

    async def _look_at_policies(self, policing: Policing, managed: Managed) -> None:
        """Restart once policies come into force, to manage every kind of job; only log when they disappear."""
        while True:
            await asyncio.sleep(RARELY if policing.is_current and not managed.ungated else RECHECK)
            try:
                found = await policing.look()
            except (Refused, Unreachable) as error:
                log.debug("could not check the admission policies: %s", error)
                continue
            if managed.ungated and found.works and found.known and self.host is not None:
                log.warning("admission policies are now in force: exiting, to be restarted with every kind of job")
                self.restarts = True
                self.host.stop()
                return


def _log_decision(record: Record) -> None:
    level = logging.DEBUG if record.outcome in QUIET else logging.INFO
    if log.isEnabledFor(level):
        said = record.reason or f"{len(record.domains)} domains" * bool(record.domains)
        log.log(level, "%s %s in %s%s", record.outcome, record.workload, record.queue, f": {said}" if said else "")


class _OneLine(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is the library's
        record.message = " ".join(record.message.splitlines())
        return super().formatMessage(record)


def log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine("%(asctime)s.%(msecs)03d %(levelname)-7s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
