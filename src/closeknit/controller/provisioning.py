"""Reconciles workloads that need new machines (ProvisioningRequests), and the admission checks that ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..cluster import kinds
from ..cluster.errors import AlreadyExists, Refused
from ..cluster.port import Change, Create, Delete, Key, Raw, Write, key_of
from ..decide.activity import PROVISIONING
from ..lifecycle.action import RequestProvisioning, StatusChange, Withdraw
from ..lifecycle.provisioning import ProvisioningView, provisioning
from ..model.cluster_queue import AdmissionCheck
from ..model.event import Event
from ..model.workload import Condition, Workload
from ..observe.live_jobs import infos_of
from ..observe.provisioning import asked, parameters_of
from ..write import provisioning as write
from ..write.events import RecordEvent
from ..write.queues import with_status
from .reconciler import Reconciler, Step, changes_more_than_status


class ProvisioningReconciler(Reconciler[Key]):
    """Keyed by workload and by admission check."""

    def keys_for(self, change: Change) -> Iterable[Key]:
        match change.kind:
            case kinds.WORKLOAD:
                workload = self._workload(change.key)
                asks = workload is not None and (self._checks(workload) or workload.uid in self.cache.requests_of)
                return [change.key] if asks else ()
            case kinds.PROVISIONING_REQUEST | kinds.POD_TEMPLATE:
                owners = change.object["metadata"].get("ownerReferences") or ()
                found = (self.cache.by_uid.get(one["uid"]) for one in owners)
                return [key for key in found if key is not None and key.kind is kinds.WORKLOAD]
            case kinds.ADMISSION_CHECK:
                return [change.key, *(self._listing(change.key.name) if changes_more_than_status(change) else ())]
            case kinds.PROVISIONING_CONFIG:
                return self._of_config(change.key.name)
        return ()

    def _of_config(self, name: str) -> Iterator[Key]:
        """The checks that use this configuration, and the workloads that have to pass them."""
        for one in self.cache.world.checks.values():
            if one.controller == PROVISIONING and one.parameters.get("name") == name:
                yield Key(kinds.ADMISSION_CHECK, "", one.name)
                yield from self._listing(one.name)

    def _listing(self, check: str) -> Iterator[Key]:
        """Workloads that list a check, with or without a ProvisioningRequest."""
        for key in self.cache.of_check.get(check, ()):
            namespace, _, name = key.partition("/")
            yield Key(kinds.WORKLOAD, namespace, name)

    def _workload(self, key: Key) -> Workload | None:
        return self.cache.workloads.get(f"{key.namespace}/{key.name}")

    def _checks(self, workload: Workload) -> list[AdmissionCheck]:
        """The provisioning checks that a workload lists."""
        found = (self.cache.world.checks.get(one.name) for one in workload.status.checks)
        return [one for one in found if one is not None and one.controller == PROVISIONING]

    def reconcile(self, key: Key, now: float) -> Iterator[Step]:
        if key.kind is kinds.ADMISSION_CHECK:
            yield from self._check(key.name, now)
            return
        workload, raw = self._workload(key), self.cache.find(key)
        if workload is None or raw is None:
            return
        checks = {one.name: self.cache.configs.get(one.parameters.get("name", "")) for one in self._checks(workload)}
        found = (self.cache.find(one) for one in self.cache.requests_of.get(workload.uid, ()))
        mine = [one for one in found if one is not None]
        for one in mine:
            yield from filter(None, (write.handed_over(each, one) for each in self._templates(one)))
        owned = [asked(one, workload) for one in mine]
        view = ProvisioningView(workload, checks, owned, self.cache.gates, parameters_of(raw))
        for action in provisioning(view, now):
            match action:
                case RequestProvisioning():
                    infos = infos_of(self.cache, workload)
                    if isinstance(infos, tuple):
                        yield from write.request(action, raw, infos, view.parameters)
                        text = f'Created ProvisioningRequest: "{action.name}"'
                        yield RecordEvent(raw, Event(workload.key, "Normal", "ProvisioningRequestCreated", text), now)
                case Withdraw(_, name):
                    yield from self._withdraw(Key(kinds.PROVISIONING_REQUEST, key.namespace, name))
                case StatusChange():
                    yield from self.status(action.before, action.after, action.events, now)

    def _templates(self, request: Raw) -> Iterator[Raw]:
        """The PodTemplates that a request refers to."""
        namespace = request["metadata"]["namespace"]
        for one in request["spec"].get("podSets") or ():
            template = self.cache.find(Key(kinds.POD_TEMPLATE, namespace, one["podTemplateRef"]["name"]))
            if template is not None:
                yield template

    def _withdraw(self, key: Key) -> Iterator[Step]:
        """Delete the request, and those of its templates that it does not own yet and so would not be collected."""
        raw = self.cache.find(key)
        if raw is None:
            return
        yield Delete(key, raw["metadata"]["uid"])
        for template in self._templates(raw):
            if write.handed_over(template, raw) is not None:
                yield Delete(key_of(kinds.POD_TEMPLATE, template), template["metadata"]["uid"])

    def on_refused(self, key: Key, write: Write, why: Refused, now: float) -> None:
        raw = self.cache.find(key)
        if isinstance(write, Create) and raw is not None and not isinstance(why, AlreadyExists):
            text = f'Error creating {write.kind.kind} "{write.body["metadata"]["name"]}": {why}'
            event = Event(f"{key.namespace}/{key.name}", "Warning", "FailedCreate", text)
            self.recorder.record(RecordEvent(raw, event, now))
        super().on_refused(key, write, why, now)

    def _check(self, name: str, now: float) -> Iterator[Step]:
        """Write whether a provisioning check is active, which needs its ProvisioningRequestConfig to exist."""
        check, raw = self.cache.world.checks.get(name), self.cache.raw[kinds.ADMISSION_CHECK].get(("", name))
        if check is None or raw is None or check.controller != PROVISIONING:
            return
        if check.parameters.get("kind") != "ProvisioningRequestConfig":
            text = "spec.parameters has to name a ProvisioningRequestConfig"
            active = Condition(False, "BadParametersRef", text, now)
        elif check.parameters.get("name") not in self.cache.configs:
            text = f"ProvisioningRequestConfig {check.parameters.get('name')} does not exist: create it"
            active = Condition(False, "BadParametersRef", text, now)
        else:
            active = Condition(True, "Active", "The admission check is active", now)
        change = with_status(kinds.ADMISSION_CHECK, raw, {}, active)
        if change is not None:
            yield change
