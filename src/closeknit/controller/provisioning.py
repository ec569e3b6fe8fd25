"""The desk for machines that have to be brought first, and for the state of checks of that kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..cluster import kinds
from ..cluster.port import Change, Delete, Key, key_of
from ..decide.activity import PROVISIONING
from ..lifecycle.action import Ask, Withdraw
from ..lifecycle.action import Change as StatusChange
from ..lifecycle.provisioning import ProvisioningView, provisioning
from ..model.cluster_queue import AdmissionCheck
from ..model.event import Event
from ..model.workload import Condition, Workload
from ..observe.live_jobs import infos_of
from ..observe.provisioning import asked, parameters_of
from ..write import provisioning as write
from ..write.queues import with_status
from .desk import Desk, Step


class Provisioning(Desk[Key]):
    """By workload, and by check."""

    def concerns(self, change: Change) -> Iterable[Key]:
        match change.kind:
            case kinds.WORKLOAD:
                workload = self._workload(change.key)
                asks = workload is not None and (self._checks(workload) or workload.uid in self.known.requests_of)
                return [change.key] if asks else ()
            case kinds.PROVISIONING_REQUEST:
                owners = change.object["metadata"].get("ownerReferences") or ()
                found = (self.known.by_uid.get(one["uid"]) for one in owners)
                return [key for key in found if key is not None]
            case kinds.ADMISSION_CHECK:
                return [change.key]
            case kinds.PROVISIONING_CONFIG:
                checks = [one for one in self.known.world.checks.values() if one.controller == PROVISIONING]
                return [*(Key(kinds.ADMISSION_CHECK, "", one.name) for one in checks), *self._asking()]
        return ()

    def _asking(self) -> Iterator[Key]:
        """Workloads that have asked for machines."""
        for uid in self.known.requests_of:
            key = self.known.by_uid.get(uid)
            if key is not None:
                yield key

    def _workload(self, key: Key) -> Workload | None:
        return self.known.workloads.get(f"{key.namespace}/{key.name}")

    def _checks(self, workload: Workload) -> list[AdmissionCheck]:
        """Checks of this kind that it lists."""
        found = (self.known.world.checks.get(one.name) for one in workload.status.checks)
        return [one for one in found if one is not None and one.controller == PROVISIONING]

    def reconcile(self, key: Key, now: float) -> Iterator[Step]:
        if key.kind is kinds.ADMISSION_CHECK:
            yield from self._check(key.name, now)
            return
        workload, raw = self._workload(key), self.known.find(key)
        if workload is None or raw is None:
            return
        checks = {one.name: self.known.configs.get(one.parameters.get("name", "")) for one in self._checks(workload)}
        mine = (self.known.find(one) for one in self.known.requests_of.get(workload.uid, ()))
        owned = [asked(one, workload) for one in mine if one is not None]
        view = ProvisioningView(workload, checks, owned, self.known.gates, parameters_of(raw))
        for action in provisioning(view, now):
            match action:
                case Ask():
                    infos = infos_of(self.known, workload)
                    if isinstance(infos, tuple):
                        yield from write.request(action, raw, infos, view.parameters)
                        text = f'Created ProvisioningRequest: "{action.name}"'
                        yield from self.recorder.tell(
                            raw, Event(workload.key, "Normal", "ProvisioningRequestCreated", text), now
                        )
                case Withdraw(_, name):
                    yield from self._withdraw(Key(kinds.PROVISIONING_REQUEST, key.namespace, name))
                case StatusChange():
                    yield from self.status(action.before, action.after, action.events, now)

    def _withdraw(self, key: Key) -> Iterator[Step]:
        """The request, and the templates that it refers to."""
        raw = self.known.find(key)
        if raw is not None:
            yield Delete(key, raw["metadata"]["uid"])
            for one in raw["spec"].get("podSets") or ():
                template = self.known.find(Key(kinds.POD_TEMPLATE, key.namespace, one["podTemplateRef"]["name"]))
                if template is not None:
                    yield Delete(key_of(kinds.POD_TEMPLATE, template), template["metadata"]["uid"])

    def _check(self, name: str, now: float) -> Iterator[Step]:
        """Whether a check of ours can do its work: its configuration has to be there."""
        check, raw = self.known.world.checks.get(name), self.known.raw[kinds.ADMISSION_CHECK].get(("", name))
        if check is None or raw is None or check.controller != PROVISIONING:
            return
        if check.parameters.get("kind") != "ProvisioningRequestConfig":
            text = "spec.parameters has to name a ProvisioningRequestConfig"
            active = Condition(False, "BadParametersRef", text, now)
        elif check.parameters.get("name") not in self.known.configs:
            text = f"ProvisioningRequestConfig {check.parameters.get('name')} is not there: create it"
            active = Condition(False, "BadParametersRef", text, now)
        else:
            active = Condition(True, "Active", "The admission check is active", now)
        change = with_status(kinds.ADMISSION_CHECK, raw, {}, active)
        if change is not None:
            yield change
