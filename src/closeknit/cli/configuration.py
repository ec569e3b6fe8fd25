"""What --config says: Kueue's Configuration, ours, or both, in one file.

    apiVersion: config.kueue.x-k8s.io/v1beta2      by itself, or inside of the ConfigMap kueue-manager-config
    apiVersion: config.closeknit.dev/v1alpha1      what Kueue has no field for

Every mistake is shown with the line and the column of its field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import click
import yaml

from ..cluster.files import STDIN, documents, read_text, shown, stdin_kept
from ..cluster.positions import place_of, positions
from ..dialects import own_configuration as own_form
from ..dialects.field import Field
from ..dialects.kueue.configuration import FILE, GROUP, KIND, KUEUE_FRAMEWORKS, Configuration, configuration
from ..dialects.kueue.jobs.kinds import FRAMEWORKS
from ..dialects.own_configuration import OwnConfiguration, own_configuration
from ..model.gates import PROFILES, Gates
from ..model.mistake import InputError, Mistake, refuse
from ..model.settings import OWN_NAMESPACE, Settings, outside_of_system
from ..observe.live_jobs import Managed

ACCEPTED = f"{GROUP}/v1beta2, or {own_form.VERSION}"


@dataclass(frozen=True, slots=True)
class Configured:
    """What a control plane is run with."""

    kueue: Configuration = field(default_factory=Configuration)
    own: OwnConfiguration = field(default_factory=OwnConfiguration)

    @property
    def changes(self) -> dict[str, bool]:
        """Gates that are set; ours goes before Kueue's."""
        return {**self.kueue.gates, **self.own.gates}

    def profile(self, given: str = "") -> str:
        """`given` is that of the command line, which goes before all."""
        return given or self.own.profile or PROFILES[0]

    def gates(self, profile: str = "", changes: Mapping[str, bool] | None = None) -> Gates:
        return Gates.profile(self.profile(profile), {**self.changes, **(changes or {})})

    @property
    def settings(self) -> Settings:
        kueue = self.kueue
        kept, delay = kueue.keep_finished, self.own.not_ready_delay
        return replace(kueue.settings, pods_ready=kueue.pods_ready, keep_finished=kept, not_ready_delay=delay)

    def managed(self, profile: str = "", namespace: str = "") -> Managed:
        """`namespace` is our own, in which nothing is managed."""
        kueue = self.kueue
        usual = KUEUE_FRAMEWORKS if self.profile(profile) == "kueue" else FRAMEWORKS
        return Managed(
            kueue.without_queue,
            kueue.namespaces or outside_of_system(namespace or kueue.namespace or OWN_NAMESPACE),
            kueue.copied_labels,
            usual if kueue.frameworks is None else kueue.frameworks,
        )


def read_configuration(path: str, called: str = "") -> Configured:
    """Both configurations of a file, as far as they are there.

    One that people know by another name than its path is `called` so; what is odd about it was told when it was given.
    """
    if path == STDIN:
        with stdin_kept():
            return _read(path, shown(path))
    return _read(path, called or shown(path), warns=not called)


def _read(path: str, where: str, warns: bool = True) -> Configured:
    roots = [Field.root(_opened(where, raw), where, KIND) for _, raw in documents(path)]
    _check_versions(where, roots)
    kueue = [configuration(root) for root in roots if _group(root) == GROUP]
    own = [own_configuration(root) for root in roots if _group(root) == own_form.GROUP]
    for name in (GROUP, own_form.GROUP):
        for root in [root for root in roots if _group(root) == name][1:]:
            root.at("apiVersion").wrong(f"is of another Configuration of {name}", "leave one")
    _tell(path, roots, warns)
    return Configured(next(iter(kueue), Configuration()), next(iter(own), OwnConfiguration()))


def _group(root: Field) -> str:
    """Empty for what is no configuration; a ConfigMap need not say that it is Kueue's."""
    if root.at("kind").text() != KIND:
        return ""
    return root.at("apiVersion").text(f"{GROUP}/").partition("/")[0]


def _check_versions(where: str, roots: list[Field]) -> None:
    """Something has to be there that can be used; other kinds are passed over, other Configurations are not."""
    groups = [_group(root) for root in roots]
    for root, group in zip(roots, groups, strict=True):
        if group not in ("", GROUP, own_form.GROUP):
            root.at("apiVersion").wrong(f"is {group}, which is not known", f"give {ACCEPTED}")
    if not any(groups):
        remedy = f"give one of apiVersion: {ACCEPTED}, or the ConfigMap kueue-manager-config with {FILE} in its data"
        raise refuse(f"there is no {KIND} in it", remedy, where=where)


def _tell(path: str, roots: list[Field], warns: bool) -> None:
    """Warn of what is odd, and refuse what is wrong."""
    if not any(root.report.mistakes or root.report.warnings for root in roots):
        return
    known = positions(read_text(path), FILE)
    by_root = known if len(known) == len(roots) else [{} for _ in roots]
    wrong: list[Mistake] = []
    for root, places in zip(roots, by_root, strict=True):
        for warning in _placed(root.report.warnings, places) if warns else ():
            click.echo(f"warning: {warning}", err=True)
        wrong += _placed(root.report.mistakes, places)
    if wrong:
        raise InputError(wrong)


def _placed(mistakes: Iterable[Mistake], places: dict[str, tuple[int, int]]) -> list[Mistake]:
    """With line and column, as far as they are known."""
    found = []
    for one in mistakes:
        at = place_of(places, one.field)
        found.append(one if at is None else replace(one, where=f"{one.where}:{at[0]}:{at[1]}"))
    return found


def _opened(where: str, raw: dict[str, Any]) -> dict[str, Any]:
    """What a ConfigMap holds; other objects as they are."""
    data = raw.get("data")
    text = data.get(FILE) if raw.get("kind") == "ConfigMap" and isinstance(data, dict) else None
    if not isinstance(text, str):
        return raw
    try:
        inside = yaml.safe_load(text)
    except yaml.YAMLError as error:
        said = str(error).replace("\n", " ")
        if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
            said = f"{error.problem}, in its line {error.problem_mark.line + 1}"
        raise InputError([Mistake(f"is not YAML: {said}", "mend it", where, "ConfigMap", f"data[{FILE}]")]) from error
    return inside if isinstance(inside, dict) else raw
