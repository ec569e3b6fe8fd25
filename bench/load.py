"""How long a cluster takes to load from files, and how much memory: 100,000 nodes and a million running pods.

    python -m bench.load [--pods N] [--form json|pretty|ndjson|yaml]

The files are generated in a temporary folder and loaded in a separate process, through the code that commands use, so
that this measures what a user waits for. The goal: a million pods within 60 s and 2 GB, in any form.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

POOL = "blocks: 100\nracksPerBlock: 50\nnodesPerRack: 20\nnode: {cpu: 96, memory: 1Ti, nvidia.com/gpu: 8}\n"
LEVELS = "cloud.provider.com/topology-block,cloud.provider.com/topology-rack,kubernetes.io/hostname"

MEASURE = """
import json, resource, sys, time
start = time.perf_counter()
from closeknit.cli.inputs import load
loaded = load([sys.argv[1]], sys.argv[2:], levels=%r)
print(json.dumps({
    "seconds": time.perf_counter() - start,
    "cpu": time.process_time(),
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "nodes": len(loaded.snapshot.table),
    "pods": int(loaded.snapshot.other[loaded.snapshot.index["pods"]].sum()),
}))
"""


def pod(number: int) -> dict[str, Any]:
    """A pod of one of forty jobs; as with real pods, no two have the same text."""
    job = number % 40
    node = f"b{number % 100 + 1:03d}-r{number // 100 % 50 + 1:02d}-n{number // 5000 % 20 + 1:02d}"
    requests = {"cpu": f"{250 * (1 + job % 8)}m", "memory": f"{job % 6 + 1}Gi", "nvidia.com/gpu": "1"}
    mounts = [{"mountPath": "/var/run/secrets", "name": f"kube-api-access-{number:06x}", "readOnly": True}]
    container = {
        "image": "registry.example.com/train:v1",
        "name": "main",
        "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": requests},
        "volumeMounts": mounts,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "labels": {"batch.kubernetes.io/job-name": f"train-{job}", "controller-uid": f"{job:032x}"},
            "name": f"train-{job}-{number:07d}",
            "namespace": f"team-{job}",
            "uid": f"{number:08x}-0000-4000-8000-{number:012x}",
        },
        "spec": {"containers": [container], "nodeName": node, "restartPolicy": "Never"},
        "status": {"phase": "Running" if number % 50 else "Succeeded", "podIP": f"10.0.{number % 256}.7"},
    }


def lines(count: int, form: str) -> Iterator[str]:
    """The file in pieces; `pretty` is how kubectl prints JSON."""
    if form == "ndjson":
        for number in range(count):
            yield json.dumps(pod(number)) + "\n"
    elif form == "yaml":
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        yield "apiVersion: v1\nitems:\n"
        for number in range(count):
            yield yaml.dump([pod(number)], Dumper=dumper)
        yield 'kind: List\nmetadata:\n  resourceVersion: ""\n'
    else:
        yield '{\n    "apiVersion": "v1",\n    "items": [\n'
        for number in range(count):
            text = json.dumps(pod(number), indent=4 if form == "pretty" else None)
            yield (",\n" if number else "") + text.replace("\n", "\n        ")
        yield '\n    ],\n    "kind": "List",\n    "metadata": {"resourceVersion": ""}\n}\n'


def measure(folder: Path, count: int, form: str) -> None:
    nodes, pods = folder / "nodes.yaml", folder / f"pods.{'yaml' if form == 'yaml' else 'json'}"
    nodes.write_text(POOL)
    with pods.open("w") as file:
        file.writelines(lines(count, form))
    size = pods.stat().st_size
    command = [sys.executable, "-c", MEASURE % LEVELS, str(nodes), str(pods)]
    got = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    print(
        f"{form}: {count:,} pods, {size / 1e6:,.0f} MB ({size // max(count, 1)} bytes each), "
        f"on {got['nodes']:,} nodes: {got['seconds']:.1f} s ({got['cpu']:.1f} s of cpu), "
        f"peak {got['peak_mb']:,.0f} MB; {got['pods']:,} pods run"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=1_000_000)
    parser.add_argument("--form", choices=["json", "pretty", "ndjson", "yaml"], default="json")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), asked.pods, asked.form)


if __name__ == "__main__":
    main()
