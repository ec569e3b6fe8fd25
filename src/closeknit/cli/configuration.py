"""Reads the file of --config: Kueue's Configuration, ours, or both in one file.

    apiVersion: config.kueue.x-k8s.io/v1beta2      by itself, or inside the ConfigMap kueue-manager-config
    apiVersion: config.closeknit.dev/v1alpha1      settings for which Kueue has no field

Every mistake is reported with the line and column of its field.
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
    """The configuration of a control plane."""

    kueue: Configuration = field(default_factory=Configuration)
    own: OwnConfiguration = field(default_factory=OwnConfiguration)

    @property
    def changes(self) -> dict[str, bool]:
        """Gates set in the file; our Configuration overrides Kueue's."""
        return {**self.kueue.gates, **self.own.gates}

    def profile(self, given: str = "") -> str:
        """The profile; `given` on the command line overrides the file."""
        return given or self.own.profile or PROFILES[0]

    def gates(self, profile: str = "", changes: Mapping[str, bool] | None = None) -> Gates:
        return Gates.profile(self.profile(profile), {**self.changes, **(changes or {})})

    @property
    def settings(self) -> Settings:
        kueue = self.kueue
        return replace(
            kueue.settings,
            pods_ready=kueue.pods_ready,
            keep_finished=kueue.keep_finished,
            not_ready_delay=self.own.not_ready_delay,
            start_timeout=self.own.start_timeout,
            group_order=self.own.group_order,
            group_steps=self.own.group_steps,
            numa=self.own.numa,
        )

    def managed(self, profile: str = "", namespace: str = "") -> Managed:
        """Which jobs are managed; `namespace` is our own, in which nothing is."""
        kueue = self.kueue
        usual = KUEUE_FRAMEWORKS if self.profile(profile).startswith("kueue") else FRAMEWORKS
        return Managed(
            kueue.without_queue,
            kueue.namespaces or outside_of_system(namespace or kueue.namespace or OWN_NAMESPACE),
            kueue.copied_labels,
            usual if kueue.frameworks is None else kueue.frameworks,
        )


def read_configuration(path: str, called: str = "") -> Configured:
    """Both Configurations of a file; one that the file lacks has its defaults.

    `called` replaces the path in messages, for a configuration that is already installed; its warnings are not
    repeated.
    """
    if path == STDIN:
        with stdin_kept():
            return _read(path, shown(path))
    return _read(path, called or shown(path), warns=not called)


def configured(path: str | None) -> Configured:
    """The same without warnings, for commands that need only some of it; the defaults if there is no file."""
    return Configured() if path is None else read_configuration(path, called=shown(path))


def _read(path: str, where: str, warns: bool = True) -> Configured:
    roots = [Field.root(_opened(where, raw), where, KIND) for _, raw in documents(path)]
    _check_versions(where, roots)
    kueue = [configuration(root) for root in roots if _group(root) == GROUP]
    own = [own_configuration(root) for root in roots if _group(root) == own_form.GROUP]
    for name in (GROUP, own_form.GROUP):
        for root in [root for root in roots if _group(root) == name][1:]:
            root.at("apiVersion").wrong(f"is a second Configuration of {name}", "keep one of them")
    _tell(path, roots, warns)
    return Configured(next(iter(kueue), Configuration()), next(iter(own), OwnConfiguration()))


def _group(root: Field) -> str:
    """The API group of a Configuration; empty for other kinds. Inside a ConfigMap the default is Kueue's."""
    if root.at("kind").text() != KIND:
        return ""
    return root.at("apiVersion").text(f"{GROUP}/").partition("/")[0]


def _check_versions(where: str, roots: list[Field]) -> None:
    """Require at least one known Configuration; other kinds are ignored, other Configurations are mistakes."""
    groups = [_group(root) for root in roots]
    for root, group in zip(roots, groups, strict=True):
        if group not in ("", GROUP, own_form.GROUP):
            root.at("apiVersion").wrong(f"group {group} is not supported", f"use {ACCEPTED}")
    if not any(groups):
        remedy = f"give one with apiVersion: {ACCEPTED}, or the ConfigMap kueue-manager-config with {FILE} in its data"
        raise refuse(f"contains no {KIND}", remedy, where=where)


def _tell(path: str, roots: list[Field], warns: bool) -> None:
    """Print warnings, and raise all mistakes together."""
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
    """The mistakes with line and column, where those are known."""
    found = []
    for one in mistakes:
        at = place_of(places, one.field)
        found.append(one if at is None else replace(one, where=f"{one.where}:{at[0]}:{at[1]}"))
    return found


def _opened(where: str, raw: dict[str, Any]) -> dict[str, Any]:
    """The document inside a ConfigMap; any other object unchanged."""
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
        text, remedy = f"is not valid YAML: {said}", "fix the syntax"
        raise InputError([Mistake(text, remedy, where, "ConfigMap", f"data[{FILE}]")]) from error
    return inside if isinstance(inside, dict) else raw
