"""Where `closeknit numa` and `closeknit doctor` learn about zones: the control plane, else the objects themselves.

running cluster ─▶ /closeknit/numa of its host or controller ─▶ view       it remembers pods and reports of before
                       │ none answers                            ▲
                       └────▶ lists of objects ─▶ loaded cluster ┘
files ───────────────────────────────────────────▶ as above
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from ..cluster.errors import Refused
from ..model.mistake import not_there
from ..model.nearest import did_you_mean
from ..observe.loaded import LoadedCluster
from ..observe.loader import load as load_objects
from ..observe.manifests import read_manifests
from ..observe.zone_views import ZoneViews, decode, zones_view
from .cluster import tell
from .progress import Progress
from .rules import Given
from .target import NoCluster

if TYPE_CHECKING:
    from ..cluster.kube.client import Client

SERVED = "/closeknit/numa"


def cluster_of_files(paths: Sequence[str], given: Given) -> LoadedCluster:
    """The cluster that files describe; mistakes in objects are warnings."""
    rules = given.alone()
    with Progress("objects") as tick:
        found = read_manifests(paths, tick, rules.managed.without_queue)
    state = load_objects(found, rules.gates, rules.settings, rules.managed)
    state.warnings = [one for one in state.warnings if one.what]
    tell(state)
    return state


async def cluster_of(client: Client, given: Given) -> LoadedCluster:
    """A running cluster as its objects describe it now."""
    from .live import manifests

    rules = await given.on(client)
    found = await manifests(client, rules.managed.without_queue)
    return load_objects(found, rules.gates, rules.settings, rules.managed)


async def served_view(client: Client, node: str = "") -> ZoneViews | None:
    """What the control plane of a cluster knows; None if there is none of ours, or it is older."""
    from .controller_pod import way_to_controller

    path = f"{SERVED}?node={node}" if node else SERVED
    try:
        try:
            return _decoded(await client.tree("GET", path))
        except Refused:
            async with way_to_controller(client, path) as (asked, found):
                return _decoded(await asked.tree("GET", found))
    except (NoCluster, Refused, msgspec.ValidationError):
        return None


def _decoded(tree: object) -> ZoneViews:
    return decode(msgspec.json.encode(tree))


async def view_of(client: Client, given: Given, node: str = "") -> ZoneViews:
    """What is known of a running cluster's zones."""
    found = await served_view(client, node)
    if found is not None:
        return found
    text = "no control plane of Closeknit answers; what it knows of earlier reports and pods is not considered"
    click.echo(f"note: {text}", err=True)
    state = await cluster_of(client, given)
    return zones_view(state.cache.world, state.cache.now(), (node,) if node else (), is_watching=False)


def check_node(view: ZoneViews, node: str, known: Sequence[str] = ()) -> None:
    """Raise if nothing is known of a node that was asked for."""
    if not node or any(one.name == node for one in view.nodes):
        return
    if node in view.without_report:
        text = f"node {node} has no NodeResourceTopology: pods are placed there by node totals"
        raise not_there(text, "run NFD's topology-updater or resource-topology-exporter on it", what=node)
    raise not_there(f'no node and no NodeResourceTopology is named "{node}"', did_you_mean(node, known), what=node)
