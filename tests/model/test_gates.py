from __future__ import annotations

import pytest

from closeknit.model.gates import ALL_GATES, OUR_GATES, GateError, Gates, parse_changes


def test_defaults_are_those_of_the_table() -> None:
    gates = Gates.profile()
    assert all((name in gates) == gate.default for name, gate in ALL_GATES.items())


def test_the_kueue_profile_switches_all_of_ours_off() -> None:
    gates = Gates.profile("kueue")
    assert not any(gate.name in gates for gate in OUR_GATES)
    assert "TASProfileMixed" in gates


def test_one_of_ours_can_be_switched_on_in_the_kueue_profile() -> None:
    assert "AutoLevel" in Gates.profile("kueue", {"AutoLevel": True})


def test_an_unknown_gate_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(GateError, match=r'unknown feature gate "AutoLevle"; did you mean AutoLevel[?]$'):
        parse_changes("AutoLevle=true")


@pytest.mark.parametrize("text", ["AutoLevel", "AutoLevel=yes", "AutoLevel=", "=true"])
def test_a_change_that_is_not_name_equals_bool_is_refused(text: str) -> None:
    with pytest.raises(GateError):
        parse_changes(text)


def test_changes_are_read() -> None:
    assert parse_changes("AutoLevel=false, TASBalancedPlacement=True") == {
        "AutoLevel": False,
        "TASBalancedPlacement": True,
    }


def test_a_gate_that_is_asked_for_needs_what_it_stands_on() -> None:
    with pytest.raises(GateError, match="TASBalancedPlacement needs TopologyAwareScheduling"):
        Gates.profile("kueue", {"TopologyAwareScheduling": False, "TASBalancedPlacement": True})


def test_a_default_gate_goes_off_with_what_it_stands_on() -> None:
    gates = Gates.profile("kueue", {"TASFailedNodeReplacement": False})
    assert "TASFailedNodeReplacementFailFast" not in gates


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(GateError, match="closeknit, kueue"):
        Gates.profile("volcano")


def test_in_kueue_014_gates_of_hot_swap_have_no_effect_without_it_and_elsewhere_they_are_refused() -> None:
    changes = {"TASFailedNodeReplacement": False, "TASReplaceNodeOnPodTermination": True}
    assert "TASReplaceNodeOnPodTermination" not in Gates.profile("kueue-0.14", changes)
    assert "TASReplaceNodeOnPodTermination" not in Gates.profile("kueue-0.14").changed(changes)
    for profile in ("closeknit", "kueue"):
        with pytest.raises(GateError, match="needs TASFailedNodeReplacement"):
            Gates.profile(profile, changes)


def test_nothing_is_proposed_for_a_name_that_is_like_no_gate() -> None:
    with pytest.raises(GateError, match=r'unknown feature gate "Nope"$'):
        parse_changes("Nope=true")
