"""CustomResourceDefinitions, read from the Go modules of their projects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from .build import module_folder
from .versions import DEFINITIONS


def definitions(name: str) -> Iterator[dict[str, Any]]:
    """The CRDs of one module, by its short name: kueue, kuberay, …"""
    module, files = DEFINITIONS[name]
    for file in sorted(module_folder(module).glob(files)):
        yield from yaml.load_all(file.read_text(), yaml.CSafeLoader)
