"""Services: ports, and a cluster address on which nothing listens here."""

from __future__ import annotations

import ipaddress
from typing import Any

from ....dialects.field import Field
from ...port import Raw
from .causes import Causes
from .container_checks import PROTOCOLS, check_port, check_target
from .metadata import check_labels
from .names import label
from .pod_defaults import non_empty
from .rule import KindRule, Making
from .settings import AdmissionSettings

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
AFFINITIES = ("ClientIP", "None")
HEADLESS = "None"
_GIVEN = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")
"""Fields that the server assigns if they are not set."""
_FIRST_ADDRESS, _ADDRESSES = int(ipaddress.ip_address("10.96.0.1")), 2**16 - 2
_FIRST_PORT, _PORTS = 30_000, 2768


def _filled(raw: Raw) -> Raw:
    spec = {"type": "ClusterIP", "sessionAffinity": "None", **non_empty(raw.get("spec") or {})}
    if spec.get("ports"):
        spec["ports"] = [_port(one) for one in spec["ports"]]
    if spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {"clientIP": {"timeoutSeconds": 10_800}})
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    return {**raw, "spec": spec}


def _port(port: Raw) -> Raw:
    port = {"protocol": "TCP", **non_empty(port)}
    return {**port, "targetPort": port.get("targetPort") or port.get("port")}


def _begun(making: Making, raw: Raw) -> Raw:
    """Assign addresses and ports from the store's version, so that Services get different ones for long enough."""
    spec, number = {**raw["spec"]}, making.store.version
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
        address = spec.get("clusterIP") or str(ipaddress.ip_address(_FIRST_ADDRESS + number % _ADDRESSES))
        spec["clusterIP"], spec["clusterIPs"] = address, [address]
        both = address == HEADLESS and not spec.get("selector")
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if both else ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack" if both else "SingleStack")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec["ports"] = _with_node_ports(spec, number)
    return {**raw, "spec": spec, "status": {"loadBalancer": {}}}


def _prepared(_settings: AdmissionSettings, old: Raw, new: Raw) -> Raw:
    """Keep assigned fields that the update leaves out, and remove them from an ExternalName."""
    before, spec = old["spec"], {**new["spec"]}
    for key in _GIVEN:
        if spec["type"] == "ExternalName":
            spec.pop(key, None)
        elif key in before:
            spec.setdefault(key, before[key])
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec["ports"] = _with_node_ports(spec, int(old["metadata"].get("resourceVersion") or 0))
    return {**new, "spec": spec}


def _with_node_ports(spec: Raw, number: int) -> list[Raw]:
    return [
        {**one, "nodePort": one.get("nodePort") or _FIRST_PORT + (number + index) % _PORTS}
        for index, one in enumerate(spec.get("ports") or ())
    ]


def _check(raw: Field, causes: Causes) -> None:
    spec = raw.at("spec")
    kind, address = spec.at("type"), spec.at("clusterIP")
    causes.one_of(kind, TYPES)
    causes.one_of(spec.at("sessionAffinity"), AFFINITIES)
    check_labels(spec.at("selector"), causes)
    if kind.text() == "ExternalName":
        if not spec.at("externalName").text():
            causes.required(spec.at("externalName"))
    elif not spec.at("ports").items() and address.text() != HEADLESS:
        causes.required(spec.at("ports"))
    if address.text() not in ("", HEADLESS) and not _is_address(address.text()):
        causes.invalid(f"{spec.path}.clusterIPs[0]", "must be an address such as 10.9.8.7", address.text())
    _check_ports(spec.at("ports"), causes, kind.text() in ("NodePort", "LoadBalancer"))


def _check_ports(ports: Field, causes: Causes, on_nodes: bool) -> None:
    several = len(ports.items()) > 1
    names: set[str] = set()
    pairs: set[tuple[Any, str]] = set()
    for port in ports.items():
        name, number, target = port.at("name"), port.at("port"), port.at("targetPort")
        if not name.text():
            if several:
                causes.required(name)
        elif label(name.text()):
            causes.invalid(name, label(name.text()))
        elif name.text() in names:
            causes.duplicate(name)
        names.add(name.text())
        check_port(number, causes)
        check_target(target, causes)
        causes.one_of(port.at("protocol"), PROTOCOLS)
        if port.at("nodePort").value and not on_nodes:
            causes.forbidden(port.at("nodePort"), "requires the type NodePort or LoadBalancer")
        pair = (str(number.value), port.at("protocol").text())
        if pair in pairs:
            causes.duplicate(port, {"port": number.value, "protocol": pair[1]})
        pairs.add(pair)


def _check_change(old: Field, new: Field, causes: Causes) -> None:
    before, after = old.at("spec", "clusterIP").text(), new.at("spec", "clusterIP").text()
    if before and new.at("spec", "type").text() != "ExternalName" and before != after:
        causes.invalid(new.at("spec", "clusterIPs").path + "[0]", "cannot be changed", [after])


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


SERVICE_RULE = KindRule(_filled, _begun, _prepared, _check, _check_change, name=label)
