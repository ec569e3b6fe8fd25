"""The Spark operator: a driver, and executors once it runs; the application ends with its driver.

    "" ──▶ SUBMITTED ──driver runs──▶ RUNNING ──▶ COMPLETED, FAILED
               ▲                        │
               └─ SUSPENDED ◀─ SUSPENDING

Left out are restarts and failed submissions. Here the application owns the executors, not the driver.
"""

from __future__ import annotations

from collections.abc import Iterator

from .....dialects.field import Field
from .....dialects.kueue.jobs.kinds.spark_application import (
    COMPLETED,
    DRIVER,
    EXECUTOR,
    RUNNING,
    SPARK_APPLICATION,
    state,
    template_of,
)
from .....dialects.kueue.jobs.raw import Raw, mapping, number
from .....dialects.timestamps import stamp
from ....kinds import POD
from ....port import Create
from ...loop import Step
from ...store import Store
from ..children import children, deletion, is_deleting, phase, pod, status_write
from ..controller import Controller, Observation

KIND = SPARK_APPLICATION.served
PREFIX = "sparkoperator.k8s.io/"
ROLE = "spark-role"
SUBMITTED, SUSPENDING, SUSPENDED, FAILED = "SUBMITTED", "SUSPENDING", "SUSPENDED", "FAILED"
ENDS = {"Succeeded": COMPLETED, "Failed": FAILED}
STATES = {"Pending": "PENDING", "Running": RUNNING, "Succeeded": COMPLETED, "Failed": FAILED}


class SparkApplications(Controller):
    kind, watches = KIND, (KIND, POD)

    def observe(self, store: Store, owner: Raw, now: float) -> Observation:
        pods = children(store, owner, POD)
        return Observation(len(pods), _steps(owner, pods, now))


STANDIN = SparkApplications


def _steps(app: Raw, pods: list[Raw], now: float) -> Iterator[Step]:
    before = state(app)
    if before in ENDS.values():
        yield from (step for one in _of(EXECUTOR, pods) for step in deletion(POD, one))
        return
    status, error = mapping(app, "status"), ""
    if app["spec"].get("suspend"):
        after = SUSPENDING if pods else SUSPENDED
        yield from (step for one in pods for step in deletion(POD, one))
    else:
        driver = next(iter(_of(DRIVER, pods)), None)
        after, error = _driven(before, driver)
        if driver is None and after == SUBMITTED:
            yield new_pod(app, DRIVER, f"{app['metadata']['name']}-driver")
            attempts = number(status, "executionAttempts") + 1
            status = {**status, "executionAttempts": attempts, "lastSubmissionAttemptTime": stamp(now)}
        if after == RUNNING:
            there = {one["metadata"]["name"] for one in pods}
            names = [f"{app['metadata']['name']}-exec-{index + 1}" for index in range(_executors(app))]
            yield from (new_pod(app, EXECUTOR, name) for name in names if name not in there)
    told = {one["metadata"]["name"]: STATES[phase(one)] for one in _of(EXECUTOR, pods)}
    status = {**status, "applicationState": {"state": after, **({"errorMessage": error} if error else {})}}
    status |= {"executorState": told} if told or "executorState" in status else {}
    status |= {"terminationTime": stamp(now)} if after in ENDS.values() else {}
    yield from status_write(KIND, app, status)


def _driven(before: str, driver: Raw | None) -> tuple[str, str]:
    """The application's state by that of its driver, and the error message."""
    if driver is None or is_deleting(driver):
        return (FAILED, "driver pod not found") if before == RUNNING else (SUBMITTED, "")
    match phase(driver):
        case "Running":
            return RUNNING, ""
        case "Succeeded":
            return COMPLETED, ""
        case "Failed":
            return FAILED, "driver container failed"
    return SUBMITTED, ""


def _of(role: str, pods: list[Raw]) -> list[Raw]:
    return [one for one in pods if one["metadata"]["labels"].get(ROLE) == role]


def _executors(app: Raw) -> int:
    return number(app, "spec", EXECUTOR, "instances")


def new_pod(app: Raw, role: str, name: str) -> Create:
    spec = app["spec"]
    template = template_of(Field.root(app).at("spec"), role).mapping()
    main, *others = template["spec"]["containers"]
    image = mapping(spec, role).get("image") or spec.get("image") or "spark"
    labels = {ROLE: role, f"{PREFIX}app-name": app["metadata"]["name"]}
    more = {"containers": [{**main, "image": image}, *others], "restartPolicy": "Never"}
    return pod(template, KIND, app, name=name, labels=labels, spec=more)
