"""SparkApplication: a driver, and the executors that it creates once it runs.

The requests are not in pod templates. They are computed as Spark does: cores, and memory plus a proportional overhead,
from the fields of the role or else from properties in `sparkConf`. What started pods get goes into the fields of their
role, and gates into its template, which Spark uses as the base of a pod.
"""

from __future__ import annotations

import re
from typing import Any

from .....model.quantity import QuantityError, nanos
from .... import cel
from ....cel import ANNOTATIONS, PolicyCheck
from ....field import Field
from ....served import Kind
from ..integration import Counts, Finished, Integration, Templates
from ..job_kind import AGE, AdmissionHold, Column
from ..raw import Raw, at, mapping, number, put, without
from ..roles import Role, ValidationRules

DRIVER, EXECUTOR = "driver", "executor"
CONTAINERS = {DRIVER: "spark-kubernetes-driver", EXECUTOR: "spark-kubernetes-executor"}
COMPLETED, RUNNING = "COMPLETED", "RUNNING"

_POD = ("template", "spec")
_MIB = 1 << 20
_UNITS = {unit: 1 << 10 * power for power, unit in enumerate("bkmgtp")}
_MEMORY = re.compile(r"(\d+)([bkmgtp]?)b?")
_LEAST_OVERHEAD = 384
_CLUSTER_MODE = "only Cluster mode is supported for a kueue managed job"
_NOT_ELASTIC = (
    "a kueue managed job can use dynamicAllocation only when the ElasticJobsViaWorkloadSlices feature gate is on "
    "and the job is an elastic job"
)


def roles(body: Field) -> list[Role]:
    spec = body.at("spec")
    scaling = spec.at("dynamicAllocation", "enabled")
    if scaling.value is True:
        scaling.wrong("makes the number of pods unknown", "set it to false, and set spec.executor.instances")
    for name in (DRIVER, EXECUTOR):
        if not spec.at(name).given:
            spec.at(name).wrong("is missing", "describe its pods")
    counts = {DRIVER: 1, EXECUTOR: spec.at(EXECUTOR, "instances").count(0)}
    return [
        Role(name, count, template_of(spec, name), annotated_at=_annotated_at(spec.at(name)))
        for name, count in counts.items()
    ]


def _annotated_at(role: Field) -> str:
    """Where a mistake in the annotations is reported: on the role, unless only its template has any."""
    own, inner = role.at("annotations"), role.at("template", "metadata", "annotations")
    return inner.path if inner.given and not own.given else own.path


def template_of(spec: Field, name: str) -> Field:
    """The pod template of a role, with the fields that placement needs."""
    role = spec.at(name)
    limits = {"cpu": role.at("coreLimit").value, **_gpus(role.at("gpu"))}
    limit = role.at("memoryLimit")
    if limit.given:
        limits["memory"] = f"{_mebibytes(limit)}Mi"
    resources: Raw = {"requests": {"cpu": _cpu(spec, role, name), "memory": f"{_memory(spec, role, name)}Mi"}}
    if limits := {key: value for key, value in limits.items() if value is not None}:
        resources["limits"] = limits
    container = {"name": CONTAINERS[name], "resources": resources}
    pods: Raw = {"containers": [container, *(one.value for one in role.at("sidecars").items())]}
    selector = spec.at("nodeSelector") if spec.at("nodeSelector").given else role.at("nodeSelector")
    parts = {
        **{key: role.at(key).value for key in ("initContainers", "priorityClassName", "affinity", "tolerations")},
        "nodeSelector": selector.value,
        "schedulingGates": role.at("template", "spec", "schedulingGates").value,
    }
    pods |= {key: value for key, value in parts.items() if value is not None}
    return Field({**_metadata(role), "spec": pods}, role.path, role.report)


def _metadata(role: Field) -> Raw:
    """The labels and annotations of a role, which override those of its template."""
    given = role.at("template", "metadata").mapping()
    found = {
        key: {**mapping(given, key), **role.at(key).mapping()}
        for key in ("labels", "annotations")
        if key in given or role.at(key).given
    }
    return {"metadata": found} if found else {}


def _gpus(gpu: Field) -> dict[str, Any]:
    name, quantity = gpu.at("name").text(), gpu.at("quantity").count(0)
    return {name: str(quantity)} if name and quantity else {}


def _setting(spec: Field, role: Field, key: str, name: str) -> Field:
    """A field of the role, or else the property in `sparkConf`."""
    return role.at(key) if role.at(key).given else spec.at("sparkConf", name)


def _cpu(spec: Field, role: Field, name: str) -> str:
    request = _setting(spec, role, "coreRequest", f"spark.kubernetes.{name}.request.cores")
    if request.given:
        try:
            nanos(request.text())
        except QuantityError as error:
            request.wrong(str(error))
            return "1"
        return request.text()
    cores = _setting(spec, role, "cores", f"spark.{name}.cores")
    if isinstance(cores.value, str) and cores.value.isdecimal():
        return cores.value
    return str(cores.count(1))


def _memory(spec: Field, role: Field, name: str) -> int:
    """The container's memory request in MiB: heap and overhead, and for executors also off-heap and PySpark memory."""
    heap = _mebibytes(_setting(spec, role, "memory", f"spark.{name}.memory"), 1024)
    overhead = _setting(spec, role, "memoryOverhead", f"spark.{name}.memoryOverhead")
    total = heap + (_mebibytes(overhead) if overhead.given else max(int(_factor(spec, name) * heap), _LEAST_OVERHEAD))
    if name != EXECUTOR:
        return total
    settings = spec.at("sparkConf")
    if spec.at("type").value == "Python":
        total += _mebibytes(settings.at("spark.executor.pyspark.memory"))
    if settings.at("spark.memory.offHeap.enabled").text().lower() == "true":
        total += _mebibytes(settings.at("spark.memory.offHeap.size"), unit=1)
    return total


def _factor(spec: Field, name: str) -> float:
    """The overhead as a fraction of the heap. Properties override the field; the default is higher for Python and R."""
    settings = spec.at("sparkConf")
    places = (
        settings.at(f"spark.{name}.memoryOverheadFactor"),
        settings.at("spark.kubernetes.memoryOverheadFactor"),
        spec.at("memoryOverheadFactor"),
    )
    given = next((one for one in places if one.value not in (None, "")), None)
    if given is None:
        return 0.4 if spec.at("type").value in ("Python", "R") else 0.1
    try:
        factor = float(given.text())
    except ValueError:
        factor = -1.0
    if not 0 <= factor < 1 << 20:
        given.wrong(f'is "{given.value}"', 'use a fraction of the memory, such as "0.1"')
        return 0.0
    return factor


def _mebibytes(memory: Field, default: int = 0, unit: int = _MIB) -> int:
    """JVM memory text in whole MiB: "2g" is 2048. A number without a suffix is in `unit`."""
    if not memory.given:
        return default
    match = _MEMORY.fullmatch(memory.text().strip().lower())
    if match is None or len(match[1]) > 18:
        memory.wrong(f'is "{memory.value}", not an amount of memory', 'write one such as "512m" or "2g"')
        return default
    return int(match[1]) * (_UNITS[match[2]] if match[2] else unit) // _MIB


def with_templates(raw: Raw, templates: Templates, _counts: Counts) -> Raw:
    """Set both roles; a node selector that all pods share gets the labels of both."""
    shared = at(raw, "spec", "nodeSelector") is not None
    for name in (DRIVER, EXECUTOR):
        raw = put(raw, ("spec", name), _with_template(mapping(raw, "spec", name), name, templates[name], shared))
    if not shared:
        return raw
    both = [mapping(templates[name], "spec", "nodeSelector") for name in (DRIVER, EXECUTOR)]
    return put(raw, ("spec", "nodeSelector"), {**both[0], **both[1]})


def _with_template(role: Raw, name: str, template: Raw, shared: bool) -> Raw:
    """The role with the placement fields of its template."""
    for key in ("labels", "annotations"):
        theirs, now = mapping(role, "template", "metadata", key), at(template, "metadata", key)
        kept = {one: value for one, value in (now or {}).items() if one in (role.get(key) or {}) or one not in theirs}
        role = _set(role, (key,), None if now is None or (theirs and not kept) else kept)
    role = _set(role, ("tolerations",), at(template, "spec", "tolerations"))
    if not shared:
        role = _set(role, ("nodeSelector",), at(template, "spec", "nodeSelector"))
    return _with_gates(role, name, at(template, "spec", "schedulingGates"))


def _with_gates(role: Raw, name: str, gates: Any) -> Raw:
    """Set the gates, which need a pod template; remove a template that was created only for them."""
    bare = {"spec": {"containers": [{"name": CONTAINERS[name]}]}}
    if gates is not None:
        return put({"template": bare, **role}, (*_POD, "schedulingGates"), gates)
    left = without(role, (*_POD, "schedulingGates")) if "template" in role else role
    if at(left, *_POD) == {}:
        left = without(left, _POD)
    return without(left, ("template",)) if left.get("template") == bare else left


def _set(tree: Raw, path: tuple[str, ...], value: Any) -> Raw:
    return without(tree, path) if value is None else put(tree, path, value)


def state(raw: Raw) -> str:
    return at(raw, "status", "applicationState", "state") or ""


def finished(raw: Raw) -> Finished | None:
    if state(raw) not in (COMPLETED, "FAILED", "SUBMISSION_FAILED"):
        return None
    return Finished(state(raw) == COMPLETED, at(raw, "status", "applicationState", "errorMessage") or "")


def is_active(raw: Raw) -> bool:
    return state(raw) == RUNNING


def pods_ready(raw: Raw) -> bool:
    """Whether the driver runs, and every executor runs or has completed."""
    states = mapping(raw, "status", "executorState").values()
    wanted = number(raw, "spec", EXECUTOR, "instances")
    return is_active(raw) and sum(one in (RUNNING, COMPLETED) for one in states) >= wanted


def refusal(raw: Raw) -> str:
    if at(raw, "spec", "mode") not in (None, "cluster"):
        return f"spec.mode: {_CLUSTER_MODE}"
    if at(raw, "spec", "dynamicAllocation", "enabled") is True:
        return f"spec.dynamicAllocation.enabled: {_NOT_ELASTIC}"
    return ""


def _sets() -> str:
    """The pod sets in CEL; annotations may be on the role, or on its template."""
    counts = {DRIVER: "1", EXECUTOR: cel.at("spec.executor.instances", "0")}
    records = [
        cel.record(at=cel.text(path), count=count, notes=cel.at(path, "{}"))
        for name, count in counts.items()
        for path in (f"spec.{name}.annotations", f"spec.{name}.template{ANNOTATIONS}")
    ]
    return f"[{', '.join(records)}]"


_SPEC_FIELDS = """
    arguments batchScheduler batchSchedulerOptions deps driver driverIngressOptions dynamicAllocation executor
    failureRetries hadoopConf hadoopConfigMap image imagePullPolicy imagePullSecrets mainApplicationFile mainClass
    memoryOverheadFactor mode monitoring nodeSelector proxyUser pythonVersion restartPolicy retryInterval sparkConf
    sparkConfigMap sparkUIOptions sparkVersion suspend timeToLiveSeconds type volumes
"""
_ROLE_FIELDS = """
    affinity annotations configMaps coreLimit coreRequest cores deleteOnTermination dnsConfig env envFrom
    envSecretKeyRefs envVars gpu hostAliases hostNetwork image initContainers instances javaOptions kubernetesMaster
    labels lifecycle memory memoryLimit memoryOverhead nodeSelector podName podSecurityContext ports priorityClassName
    schedulerName secrets securityContext serviceAccount serviceAnnotations serviceLabels shareProcessNamespace sidecars
    template terminationGracePeriodSeconds tolerations volumeMounts
"""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ROLE = {
    "open": True,
    "fields": {
        "annotations": {"map": "string"},
        "coreLimit": "string",
        "coreRequest": "string",
        "cores": "int32",
        "instances": "int32",
        "labels": {"map": "string"},
        "memory": "string",
        "memoryLimit": "string",
        "memoryOverhead": "string",
        "nodeSelector": {"map": "string"},
    },
}

SPARK_APPLICATION = Integration(
    served=Kind("sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications", True, ("sparkapp",)),
    framework="sparkoperator.k8s.io/sparkapplication",
    description="A Spark program: a driver and its executors.",
    roles=roles,
    rules=ValidationRules.COUNT,
    judges_roles=True,
    fields={"spec": _names(_SPEC_FIELDS), **dict.fromkeys(("spec.driver", "spec.executor"), _names(_ROLE_FIELDS))},
    columns=(
        Column("Status", "status.applicationState.state"),
        Column("Attempts", "status.executionAttempts"),
        Column("Start", "status.lastSubmissionAttemptTime"),
        Column("Finish", "status.terminationTime"),
        AGE,
    ),
    schema={
        "open": True,
        "fields": {
            "driver": _ROLE,
            "dynamicAllocation": {"open": True, "fields": {"enabled": "boolean"}},
            "executor": _ROLE,
            "memoryOverheadFactor": "string",
            "mode": {"of": "string", "enum": ["cluster", "client"]},
            "nodeSelector": {"map": "string"},
            "sparkConf": {"map": "string"},
            "suspend": "boolean",
            "type": {"of": "string", "enum": ["Java", "Scala", "Python", "R"]},
        },
        "need": ["driver", "executor"],
    },
    with_templates=with_templates,
    finished=finished,
    is_active=is_active,
    ready_in=pods_ready,
    refusal=refusal,
    held=AdmissionHold(
        sets=_sets(),
        checks_when_held=(
            PolicyCheck(f'{cel.at("spec.mode", cel.text("cluster"))} == "cluster"', "spec.mode", _CLUSTER_MODE),
            PolicyCheck(
                f"{cel.at('spec.dynamicAllocation.enabled', 'false')} != true",
                "spec.dynamicAllocation.enabled",
                "makes the number of pods unknown; set it to false, and set spec.executor.instances",
            ),
        ),
    ),
)
