"""Generates the files of this folder from Python: `make deploy`. With --check it lists outdated files instead.

The objects are those of `closeknit install`, so the three ways to install cannot drift apart. In the chart, values
stand where `install` has options: objects are generated with marks in these places, and templates replace the marks.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from closeknit import __version__
from closeknit.cli.install import configured
from closeknit.cli.output import yaml_lines
from closeknit.deploy import job_kinds, rbac
from closeknit.deploy.bundle import stages
from closeknit.deploy.objects import InstallOptions, config_hash

Raw = dict[str, Any]
ROOT = Path(__file__).parents[1]
NOTE = "# Made by `make deploy` from src/closeknit/deploy; changes belong there.\n"
MONITORING = ("Service", "ServiceMonitor")
PLAIN = configured(InstallOptions(monitored=True), InstallOptions().configuration)
MARKED = configured(
    InstallOptions("@image@", "@namespace@", replicas=97, monitored=True, room={"@room@": {}}, api_server=("@cidr@",)),
    InstallOptions().configuration,
)
FOLDERS = {"definitions": "crds", "policies": "files"}


def main() -> None:
    wrong = []
    for path, text in files().items():
        file = ROOT / path
        if not file.exists() or file.read_text() != text:
            wrong.append(path)
            if "--check" not in sys.argv:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
    for path in wrong:
        print(f"{path} {'is out of date' if '--check' in sys.argv else 'written'}")
    sys.exit(1 if wrong and "--check" in sys.argv else 0)


def files() -> dict[str, str]:
    """The expected text of every generated file, by path."""
    pages = {"docs/reference/permissions.md": rbac.page(), "docs/reference/job-kinds.md": job_kinds.page()}
    return {**pages, **dict(kustomize()), **dict(chart())}


def text(objects: Iterable[Raw]) -> str:
    return NOTE + "---\n".join("\n".join(yaml_lines(one, "")) + "\n" for one in objects)


def kustomize() -> Iterator[tuple[str, str]]:
    """The kustomize base; CRDs and policies are large, so it takes them from the chart."""
    resources = []
    for name, objects in split(PLAIN).items():
        match name:
            case "definitions" | "policies":
                resources.append(f"../../chart/{FOLDERS[name]}")
                yield f"deploy/chart/{FOLDERS[name]}/{name}.yaml", text(objects)
                yield f"deploy/chart/{FOLDERS[name]}/kustomization.yaml", kustomization([f"{name}.yaml"])
            case "monitoring":
                yield "deploy/kustomize/overlays/monitoring/monitoring.yaml", text(objects)
            case _:
                resources.append(f"{name}.yaml")
                yield f"deploy/kustomize/base/{name}.yaml", text(objects)
    yield "deploy/kustomize/base/kustomization.yaml", kustomization(resources)
    home = "deploy/kustomize/overlays/monitoring/kustomization.yaml"
    yield home, kustomization(["../../base", "monitoring.yaml"])


def split(wishes: InstallOptions) -> dict[str, list[Raw]]:
    """Objects by their file."""
    found = {stage.name: list(stage.objects) for stage in stages(wishes)}
    found["monitoring"] = [one for one in found["controller"] if one["kind"] in MONITORING]
    found["controller"] = [one for one in found["controller"] if one["kind"] not in MONITORING]
    return found


def kustomization(resources: list[str]) -> str:
    return text([{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources}])


def chart() -> Iterator[tuple[str, str]]:
    head = {
        "apiVersion": "v2",
        "name": "closeknit",
        "description": "Places the pods of a distributed job close together, and keeps them so.",
        "type": "application",
        "version": __version__,
        "appVersion": __version__,
        "kubeVersion": ">=1.30.0-0",
    }
    yield "deploy/chart/Chart.yaml", text([head])
    objects = split(MARKED)
    for name in ("permissions", "configuration", "controller"):
        yield f"deploy/chart/templates/{name}.yaml", template(objects[name])
    monitoring = f"{{{{- if .Values.serviceMonitor.enabled }}}}\n{template(objects['monitoring'])}{{{{- end }}}}\n"
    yield "deploy/chart/templates/monitoring.yaml", monitoring


def template(objects: Iterable[Raw]) -> str:
    """The objects as YAML with values in place of the marks."""
    found = text(objects)
    assert "{{" not in found
    for mark, value in MARKS.items():
        found = found.replace(mark, value)
    return re.sub(r"(controller_manager_config\.yaml: ).*", r"\1{{ .Values.configuration | quote }}", found)


def optional(name: str, value: str) -> str:
    """A field of the pod that is present if the value is set."""
    return f"{{{{- with .Values.{name} }}}}\n      {name}: {value}\n      {{{{- end }}}}"


ACCOUNT = "serviceAccountName: closeknit-controller"
TREE = "{{- toYaml . | nindent 8 }}"
POD = [
    ACCOUNT,
    optional("priorityClassName", "{{ . }}"),
    *(optional(name, TREE) for name in ("nodeSelector", "tolerations", "imagePullSecrets")),
]
CIDRS = """    {{- range .Values.apiServer.cidrs }}
    - ipBlock:
        cidr: {{ . }}
    {{- end }}
"""
MARKS = {
    '"@namespace@"': "{{ .Release.Namespace }}",
    '"@image@"': '{{ include "closeknit.image" . }}',
    "replicas: 97": "replicas: {{ .Values.replicas }}",
    json.dumps(config_hash(MARKED)): "{{ .Values.configuration | sha256sum | trunc 16 | quote }}",
    '"@room@": {}': "{{- toYaml .Values.resources | nindent 10 }}",
    ACCOUNT: "\n      ".join(POD),
    '    - ipBlock:\n        cidr: "@cidr@"\n': CIDRS,
}


if __name__ == "__main__":
    main()
