"""The live view: what fits on a screen, and how it looks."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

from closeknit.report.host_grid import LETTERS, MERGED, PLAIN, UNICODE, Marks, merged
from closeknit.report.lines import line_of
from closeknit.report.live import view
from closeknit.report.picture import OTHER, Access, Block, DecisionLine, Host, Picture, PictureJob, Queue, Rack

ACCESS = Access("https://127.0.0.1:6443", "/state", "/state/kubeconfig")
EMPTY = Picture("1.2.3", ACCESS, 0.0, 60.0)


def drawn(picture: Picture, width: int = 100, height: int = 30, marks: Marks = UNICODE) -> list[str]:
    console = Console(width=width, height=height, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(view(picture, width, height, marks))
    return [line.rstrip() for line in captured.get().splitlines()]


def hall(blocks: int, racks: int, hosts: int) -> tuple[Block, ...]:
    def rack(block: int, number: int) -> Rack:
        names = [f"b{block}-r{number}-n{host}" for host in range(1, hosts + 1)]
        return Rack(f"r{number}", tuple(map(Host, names)))

    return tuple(
        Block(f"b{block}", tuple(rack(block, number) for number in range(1, racks + 1)))
        for block in range(1, blocks + 1)
    )


def test_the_head_says_where_it_is_and_how_to_get_there() -> None:
    lines = drawn(EMPTY)
    assert lines[0] == "closeknit 1.2.3  https://127.0.0.1:6443  0 hosts  0 pods"
    assert lines[1] == "export KUBECONFIG=/state/kubeconfig"
    assert lines[2] == "Ctrl-C stops, state is kept   closeknit explain JOB   closeknit get jobs"
    assert "no hosts yet" in lines


def test_commands_are_shown_with_the_options_that_they_need() -> None:
    access = ACCESS._replace(options="--data /elsewhere")
    assert "closeknit explain JOB --data /elsewhere" in drawn(EMPTY._replace(access=access))[2]


def test_a_command_that_does_not_fit_into_the_head_is_left_out_instead_of_cut() -> None:
    access = ACCESS._replace(options="--data /elsewhere/in/a/long/path")
    head = drawn(EMPTY._replace(access=access), width=100)[2]
    assert head == "Ctrl-C stops, state is kept   closeknit explain JOB --data /elsewhere/in/a/long/path"


def test_what_a_demo_says_is_at_the_top_and_wrapped() -> None:
    text = "Rack b1-r2 fails, with all hosts of vision. No host of that rack can step in."
    lines = drawn(EMPTY._replace(demo="node-failure", says=text), width=50)
    assert lines[4] == "node-failure  Rack b1-r2 fails, with all hosts of"
    assert lines[5] == "vision. No host of that rack can step in."


def test_hosts_are_drawn_by_state_and_by_how_full_they_are() -> None:
    row = (
        Host("n1"),
        Host("n2", "up", 0, 1.0),
        Host("n3", "up", 1, 0.1),
        Host("n4", "lost", 1, 1.0),
        Host("n5", "held"),
        Host("n6", "silent"),
    )
    picture = EMPTY._replace(blocks=(Block("b1", (Rack("r1", row),)),))
    lines = drawn(picture)
    assert "│ r1 ·· ▇▇ ▁▁ ✗✗ –– ✗✗  │" in lines
    assert "2 failed" in lines[0]
    assert "│ r1 .. 77 11 xx -- xx  │" in drawn(picture, marks=PLAIN)


def test_blocks_are_boxes_side_by_side_with_a_row_a_rack() -> None:
    lines = drawn(EMPTY._replace(blocks=hall(2, 2, 3)))
    assert lines[4:8] == [
        "╭─ b1 ─────────╮╭─ b2 ─────────╮",
        "│ r1 ·· ·· ··  ││ r1 ·· ·· ··  │",
        "│ r2 ·· ·· ··  ││ r2 ·· ·· ··  │",
        "╰──────────────╯╰──────────────╯",
    ]


def test_jobs_are_a_legend_beside_the_hosts() -> None:
    jobs = (PictureJob("llm", "team", 5, 0, "b1-r1"), PictureJob("sweep", "team", 12, waits="no room"))
    lines = drawn(EMPTY._replace(blocks=hall(1, 2, 3), jobs=jobs))
    assert lines[4].endswith("▇▇ llm  5 pods in b1-r1")
    assert lines[5].endswith("·· sweep  12 pods waiting")


def test_jobs_are_below_the_hosts_where_the_screen_is_narrow() -> None:
    jobs = (PictureJob("llm", "team", 1, 0, "b1-r1"),)
    lines = drawn(EMPTY._replace(blocks=hall(2, 2, 3), jobs=jobs), width=40)
    assert lines[8] == "▇▇ llm  1 pod in b1-r1"


def test_queues_have_a_bar_of_what_they_use_and_what_they_have_borrowed() -> None:
    queues = (Queue("research", "nvidia.com/gpu", 12, 8, 3, 2), Queue("batch", "cpu", 0, 4000, 0, 0))
    lines = drawn(EMPTY._replace(queues=queues))
    at = next(place for place, line in enumerate(lines) if line.startswith("research"))
    assert lines[at] == "research  ▒▒▒▒▒▒▒▒▒▒▒▒▒▓▓▓▓▓▓▓  12 of 8 nvidia.com/gpu, 4 borrowed  3 running  2 waiting"
    assert lines[at + 1] == "batch     ░░░░░░░░░░░░░░░░░░░░  0 of 4 cpu  0 running"


def test_the_newest_decisions_are_shown_last() -> None:
    told = tuple(DecisionLine(float(number), "Admitted", f"job{number}", "n1 in r1", 5) for number in range(40))
    lines = drawn(EMPTY._replace(decisions=told), height=20)
    assert "job39" in lines[-1]
    assert "job0 " not in "\n".join(lines)


def test_the_usual_opening_of_a_reason_is_left_out() -> None:
    reason = "couldn't assign flavors to pod set main: no room"
    lines = drawn(EMPTY._replace(decisions=(DecisionLine(0.0, "Waits", "a", reason, 5),)))
    assert lines[-1].endswith("Waits     a  no room")


@pytest.mark.parametrize("size", [(80, 24), (110, 40), (200, 60), (60, 15), (40, 10), (20, 8)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 6), (5, 16, 8), (40, 20, 16), (1, 1, 900), (300, 1, 1)])
def test_everything_fits_on_any_screen(size: tuple[int, int], shape: tuple[int, int, int]) -> None:
    jobs = tuple(PictureJob(f"job-with-a-long-name-{number}", "team", 8, number, "b1-r1") for number in range(60))
    queues = tuple(Queue(f"queue{number}", "nvidia.com/gpu", 5, 8, 1, 1) for number in range(30))
    told = tuple(DecisionLine(float(number), "Waits", "some-job", "for room " * 30, 5) for number in range(50))
    picture = EMPTY._replace(blocks=hall(*shape), jobs=jobs, queues=queues, decisions=told, demo="x", says="hello " * 9)
    width, height = size
    lines = drawn(picture, width, height)
    assert max(map(len, lines)) <= width
    assert len(lines) <= height


def crowded(jobs: int = 20, queues: int = 9, decisions: int = 50) -> Picture:
    return EMPTY._replace(
        blocks=hall(2, 3, 6),
        jobs=tuple(PictureJob(f"job{number}", "team", 8, number, "b1-r1") for number in range(jobs)),
        queues=tuple(Queue(f"queue{number}", "nvidia.com/gpu", 5, 8, 1, 1) for number in range(queues)),
        decisions=tuple(
            DecisionLine(float(number), "Waits", f"job{number}", "for room", 5) for number in range(decisions)
        ),
    )


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (60, 15), (40, 10)])
def test_what_is_left_out_is_counted(size: tuple[int, int]) -> None:
    """Shown and left out are all there is, of every list."""
    text = "\n".join(drawn(crowded(), *size))
    for there, shown, told in (
        (20, r"▇▇ job", r"… ([0-9]+) (?:more )?jobs?\b"),
        (9, r"(?m)^queue", r"… ([0-9]+) (?:more )?queues?\b"),
        (50, r"(?m)^[0-9:]{8}  Waits", r"… ([0-9]+) earlier decisions?\b"),
    ):
        left_out = re.search(told, text)
        assert len(re.findall(shown, text)) + (int(left_out[1]) if left_out else 0) == there, told


def test_jobs_that_the_picture_leaves_out_are_counted_too() -> None:
    lines = drawn(crowded(jobs=3)._replace(more_jobs=40), 120, 40)
    assert any(line.endswith("… 40 more jobs") for line in lines)
    lines = drawn(crowded(jobs=20)._replace(more_jobs=40), 80, 24)
    shown = "\n".join(lines).count("▇▇ job")
    assert any(line.endswith(f"… {60 - shown} more jobs") for line in lines)


def test_a_screen_that_has_room_for_all_says_nothing_of_more() -> None:
    assert "…" not in "\n".join(drawn(crowded(4, 1, 4), 120, 40))


def test_a_small_screen_says_that_a_larger_one_shows_more() -> None:
    lines = drawn(EMPTY._replace(blocks=hall(2, 3, 6)), 60, 15)
    assert lines[0] == "36 hosts  0 pods  (20 lines or more show everything)"


def test_a_sentence_that_is_too_long_for_a_small_screen_is_seen_to_go_on() -> None:
    lines = drawn(EMPTY._replace(demo="x", says="hello " * 60), 40, 10)
    assert lines[3].endswith("…")
    assert not lines[4].startswith("hello")


def test_a_cell_that_is_a_rack_says_so() -> None:
    assert MERGED in "\n".join(drawn(EMPTY._replace(blocks=hall(5, 16, 8)), 60, 24))


def test_notes_are_not_covered_by_the_picture() -> None:
    assert "note: --demo x is ignored" in drawn(EMPTY._replace(notes=("--demo x is ignored",)))


def test_without_colours_jobs_have_letters() -> None:
    row = (Host("n1", "up", 0, 1.0), Host("n2", "up", 1, 0.1), Host("n3", "up", OTHER, 1.0), Host("n4"))
    jobs = (PictureJob("llm", "team", 5, 0, "b1"), PictureJob("vision", "team", 4, 1, "b1"))
    picture = EMPTY._replace(blocks=(Block("b1", (Rack("r1", row),)),), jobs=jobs)
    lines = drawn(picture, marks=UNICODE._replace(letters=LETTERS))
    assert any("│ r1 a▇ b▁ +▇ ··  │" in line for line in lines)
    assert any(line.endswith("b▇ vision  4 pods in b1") for line in lines)


def test_where_hosts_do_not_fit_a_cell_is_a_rack() -> None:
    rack = Rack("r1", (Host("a", "up", 3, 1.0), Host("b", "up", 3, 0.5), Host("c", "up", 1, 0.0), Host("d", "lost")))
    lost = Rack("r2", (Host("e", "lost"), Host("f", "silent")))
    (block,) = merged([Block("b1", (rack, lost))])
    assert block == Block(MERGED, (Rack("b1", (Host("r1", "up", 3, 0.5), Host("r2", "lost"))),))


def test_a_decision_is_a_line_of_text() -> None:
    line = line_of(DecisionLine(0.0, "Admitted", "train", "4 hosts in r1", 250))
    assert line[8:] == "  Admitted   train  4 hosts in r1  (250 µs)"
