"""The rules about topology annotations, for any kind that gives its pod sets as a list of records.

`sets` is an expression for `[{at, count, notes}, …]`: the path to the annotations of a template, the number of its
pods, and the annotations. The layers annotation is JSON, which CEL cannot parse; but an entry is so simple that a
regular expression matches it, and its parts can be compared. An entry with further fields is rejected. That layers go
from coarse to fine cannot be checked without the topology.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...dialects.cel import (
    NO,
    YES,
    PolicyCheck,
    all_of,
    any_of,
    is_integer,
    is_label_name,
    negated,
    note,
    record,
    text,
    texts,
)
from ...dialects.kueue import keys
from ...dialects.kueue.jobs.roles import ValidationRules
from ...dialects.kueue.topology_request import INT32_MAX, MAX_LAYERS
from ...dialects.kueue.validation import MAX_GROUP, MAX_LEVEL
from ...model.gates import Gates
from ...model.label_names import QUALIFIED_NAME
from ...model.request import AUTO

WRITTEN = "variables.written"
SETS = "variables.sets"
GROUPED = "variables.grouped"

_TOPOLOGY = rf'"topology"\s*:\s*"(?:{QUALIFIED_NAME})"'
_SIZE = r'"size"\s*:\s*0*[1-9][0-9]{0,9}'
_LAYER = rf"\{{\s*(?:{_TOPOLOGY}\s*,\s*{_SIZE}|{_SIZE}\s*,\s*{_TOPOLOGY})\s*\}}"
LAYERS = rf"^\s*\[\s*{_LAYER}(?:\s*,\s*{_LAYER}){{0,{MAX_LAYERS - 1}}}\s*\]\s*$"
_UNSIGNED = "^0*([0-9]{1,19}|1[0-8][0-9]{18})$"
"""Numbers of 64 bits, approximately: some of 20 digits beyond the range match too."""


@dataclass(frozen=True, slots=True)
class SetRule:
    """A rule: `wrong` is an expression about the pod set `s` of `sets`; `key` is the annotation to report."""

    wrong: str
    key: str
    text: str
    sets: str = SETS
    unless: str = "false"

    def check(self) -> PolicyCheck:
        found = f"{self.sets}.filter(s, {self.wrong})"
        last = f"{found}[{found}.size() - 1].at + {text(f'[{self.key}]')}"
        return PolicyCheck(f"({self.unless}) || !{self.sets}.exists(s, {self.wrong})", last, self.text, computed=True)


def variables(sets: str, rules: ValidationRules, gates: Gates) -> dict[str, str]:
    """The variables that the rules use; `written` are the pod sets with the keys that they really have."""
    asks = any_of(_has(keys.REQUIRED), _has(keys.PREFERRED))
    grouped = (
        {"grouped": f"{SETS}.filter(s, {all_of(_has(keys.GROUP), asks)})"} if ValidationRules.GROUPS in rules else {}
    )
    if "ReadFormerKeys" not in gates:
        return {"written": sets, "sets": WRITTEN, **grouped}
    return {"written": sets, "sets": f"{WRITTEN}.map(s, {_current()})", **grouped}


def _current() -> str:
    """The pod set `s` with the KEP's keys renamed to those that became of them, unless it has both."""
    key = "k"
    for old, new in keys.FORMER.items():
        key = f"k == {text(old)} && !({_has(new)}) ? {text(new)} : ({key})"
    return record(at="s.at", count="s.count", notes=f"s.notes.transformMapEntry(k, v, {{({key}): v}})")


def checks(gates: Gates, rules: ValidationRules, unbounded: str = "false") -> list[PolicyCheck]:
    """The checks that apply to the kind. Where `unbounded` holds, slices are not compared with the number of pods."""
    if "TopologyAwareScheduling" not in gates:
        return []
    found = [*_former(gates), *_modes(gates), *_levels(gates), *_group_names(), *_slices(), *_layers(gates)]
    if ValidationRules.COUNT in rules:
        found += _counts(gates, unbounded)
    if ValidationRules.GROUPS in rules:
        found += _groups()
    if ValidationRules.ELASTIC in rules and "ElasticJobsViaWorkloadSlices" in gates:
        found += _elastic()
    return [one.check() for one in found]


def _has(key: str, of: str = "s") -> str:
    return f"{text(key)} in {of}.notes"


def _value(key: str, of: str = "s") -> str:
    return f"{of}.notes[{text(key)}]"


def _together(one: str, *others: str) -> str:
    return all_of(_has(one), any_of(*(_has(other) for other in others)))


def _former(gates: Gates) -> Iterator[SetRule]:
    """A key of the KEP and the key that became of it must agree."""
    for old, new in keys.FORMER.items() if "ReadFormerKeys" in gates else ():
        differs = all_of(_has(old), _has(new), f"{_value(old)} != {_value(new)}")
        yield SetRule(differs, old, f"contradicts {new}; keep one of them")


def _modes(gates: Gates) -> Iterator[SetRule]:
    """Rule 1."""
    yield SetRule(
        _together(keys.UNCONSTRAINED, keys.REQUIRED, keys.PREFERRED),
        keys.UNCONSTRAINED,
        f"cannot be combined with {keys.REQUIRED} or {keys.PREFERRED}; keep one of them",
    )
    if "RequiredAndPreferred" not in gates:
        yield SetRule(
            _together(keys.PREFERRED, keys.REQUIRED),
            keys.PREFERRED,
            f"cannot be combined with {keys.REQUIRED}; keep one of them, or enable RequiredAndPreferred",
        )


def _levels(gates: Gates) -> Iterator[SetRule]:
    """Rule 2."""
    for key in (keys.REQUIRED, keys.PREFERRED, keys.SLICE_LEVEL):
        bad = any_of(negated(is_label_name(_value(key))), f"{_value(key)}.size() > {MAX_LEVEL}")
        message = (
            f'is not the name of a level; use a label such as "kubernetes.io/hostname", at most {MAX_LEVEL} characters'
        )
        yield SetRule(all_of(_has(key), bad), key, message)
    if "AutoLevel" in gates:
        auto = all_of(_has(keys.SLICE_LEVEL), f"{_value(keys.SLICE_LEVEL)} == {text(AUTO)}")
        yield SetRule(auto, keys.SLICE_LEVEL, f'is "{AUTO}"; name the level that holds one slice')


def _group_names() -> Iterator[SetRule]:
    """Rule 3."""
    name, is_there = _value(keys.GROUP), _has(keys.GROUP)
    number = all_of(is_there, f"{name}.matches({text(_UNSIGNED)})")
    yield SetRule(number, keys.GROUP, "is a number; use a name")
    slices = (keys.SLICE_SIZE, keys.SLICE_LEVEL, keys.LAYERS)
    yield SetRule(_together(keys.GROUP, *slices), keys.GROUP, "cannot be combined with slices; keep one of them")
    level = any_of(_has(keys.REQUIRED), _has(keys.PREFERRED))
    yield SetRule(
        all_of(is_there, negated(level)),
        keys.GROUP,
        f"requires a level; add {keys.REQUIRED} or {keys.PREFERRED}",
    )
    long = all_of(is_there, f"{name}.size() > {MAX_GROUP}")
    yield SetRule(long, keys.GROUP, f"is too long; a Workload allows at most {MAX_GROUP} characters")


def _slices() -> Iterator[SetRule]:
    """Rules 4 and 5."""
    unreadable = all_of(_has(keys.UNCONSTRAINED), f"!({_value(keys.UNCONSTRAINED)} in {texts((*YES, *NO))})")
    yield SetRule(unreadable, keys.UNCONSTRAINED, 'use "true" or "false"')
    value = _value(keys.SLICE_SIZE)
    readable = all_of(is_integer(value), f"int({value}) > 0", f"int({value}) <= {INT32_MAX}")
    size = all_of(_has(keys.SLICE_SIZE), negated(readable))
    yield SetRule(size, keys.SLICE_SIZE, 'use a whole number above 0 such as "4"')
    for one, other in ((keys.SLICE_SIZE, keys.SLICE_LEVEL), (keys.SLICE_LEVEL, keys.SLICE_SIZE)):
        yield SetRule(all_of(_has(one), negated(_has(other))), one, f"requires {other}; add it")


def _layers(gates: Gates) -> Iterator[SetRule]:
    """Rule 6, as far as it can be checked without parsing JSON."""
    is_there, key = _has(keys.LAYERS), keys.LAYERS
    if "TASMultiLayerTopology" not in gates:
        yield SetRule(is_there, key, "requires the feature gate TASMultiLayerTopology; enable it")
        return
    slices = _together(key, keys.SLICE_SIZE, keys.SLICE_LEVEL)
    yield SetRule(slices, key, f"cannot be combined with {keys.SLICE_SIZE} or {keys.SLICE_LEVEL}; keep one of them")
    example = '[{"topology": "example.com/rack", "size": 8}]'
    form = f"{_value(key)}.matches({text(LAYERS)})"
    yield SetRule(
        all_of(is_there, negated(form)), key, f"use a JSON list of 1 to {MAX_LAYERS} layers such as {example}"
    )
    sizes = f"{_sizes('s')}.all(i, n, i == 0 || {_sizes('s')}[i - 1] % n == 0)"
    yield SetRule(
        all_of(is_there, form, negated(sizes)), key, "give each layer a size that divides that of the one above"
    )
    large = f"{_sizes('s')}.exists(n, n > {INT32_MAX})"
    yield SetRule(all_of(is_there, form, large), key, "has a size beyond 32 bits; use the number of pods in a slice")
    names = f"{_value(key)}.findAll({text(_TOPOLOGY)}).map(t, t.split({text(chr(34))})[3])"
    bad = any_of(f"{names}.distinct().size() < {names}.size()", f"{names}.exists(t, t.size() > {MAX_LEVEL})")
    if "AutoLevel" in gates:
        bad = any_of(bad, f"{text(AUTO)} in {names}")
    yield SetRule(all_of(is_there, form, bad), key, f"name each level once, in at most {MAX_LEVEL} characters")


def _sizes(of: str) -> str:
    """The sizes of all layers, for a well-formed annotation."""
    return f'{_value(keys.LAYERS, of)}.findAll({text(_SIZE)}).map(z, int(z.find("[0-9]+$")))'


def _counts(gates: Gates, unbounded: str) -> Iterator[SetRule]:
    """Rule 7, and RefuseUnevenSlices."""
    size, key = _value(keys.SLICE_SIZE), keys.SLICE_SIZE
    readable = all_of(_has(key), is_integer(size), f"int({size}) > 0")
    if "TASMultiLayerTopology" in gates:
        readable = all_of(readable, negated(_has(keys.LAYERS)))
    yield from _bounds(gates, readable, f"int({size})", key, unbounded)
    if "TASMultiLayerTopology" in gates:
        form = all_of(_has(keys.LAYERS), f"{_value(keys.LAYERS)}.matches({text(LAYERS)})")
        yield from _bounds(gates, form, f"{_sizes('s')}[0]", keys.LAYERS, unbounded)


def _bounds(gates: Gates, readable: str, size: str, key: str, unbounded: str) -> Iterator[SetRule]:
    over = all_of(readable, f"{size} > s.count")
    yield SetRule(over, key, "has slices larger than the number of pods; use smaller ones", unless=unbounded)
    if "RefuseUnevenSlices" in gates:
        uneven = all_of(readable, f"s.count % {size} != 0")
        message = "does not divide the number of pods; use another size, or a multiple of it as the number of pods"
        yield SetRule(uneven, key, message, unless=unbounded)


def _groups() -> Iterator[SetRule]:
    """Rule 8."""
    members = f"{GROUPED}.filter(o, {_value(keys.GROUP, 'o')} == {_value(keys.GROUP)})"
    pair = f"{members}.size() == 2"
    yield SetRule(negated(pair), keys.GROUP, "is not the group of two pod sets, a leader and its workers", GROUPED)
    alone = f"{members}.exists(o, o.count == 1)"
    yield SetRule(all_of(pair, negated(alone)), keys.GROUP, "one of the two pod sets must have 1 pod", GROUPED)
    levels = all_of(*(f"o.notes[?{text(key)}] == s.notes[?{text(key)}]" for key in (keys.REQUIRED, keys.PREFERRED)))
    message = "give both pod sets of the group the same required or the same preferred level"
    yield SetRule(all_of(pair, f"!{members}.all(o, {levels})"), keys.GROUP, message, GROUPED)


def _elastic() -> Iterator[SetRule]:
    """Rule 9."""
    for key in (keys.REQUIRED, keys.PREFERRED):
        message = f"is not allowed in an elastic job; remove it, or the annotation {keys.ELASTIC} of the job"
        yield SetRule(_has(key), key, message, unless=f'{note(keys.ELASTIC)} != "true"')
