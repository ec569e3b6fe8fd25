"""The status page: plain HTML, with all input escaped."""

from __future__ import annotations

from html.parser import HTMLParser

from closeknit.report.page import lasting, page
from closeknit.report.picture import Access, Block, DecisionLine, Host, Picture, PictureJob, Queue, Rack

PICTURE = Picture(
    "1.2.3",
    Access("https://127.0.0.1:6443", "/state", "/state/kubeconfig"),
    100.0,
    3825.0,
    "node-failure",
    "Rack b1-r2 fails.",
    (Block("b1", (Rack("r1", (Host("n1", "up", 0, 1.0), Host("n2", "lost"), Host("n3"))),)),),
    3,
    (PictureJob("llm", "team", 5, 0, "b1-r1"), PictureJob("sweep", "team", 12, waits="no block is free")),
    (Queue("research", "nvidia.com/gpu", 12, 8, 3, 2),),
    {"running": 3, "waiting": 1},
    (DecisionLine(1.0, "Admitted", "old", "b1", 5), DecisionLine(2.0, "Waits", "new", "for room", 7)),
)


class Tags(HTMLParser):
    """Tags that were opened, and rows of cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.refresh = ""
        self.rows: list[list[str]] = []
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        given = dict(attrs)
        if given.get("http-equiv") == "refresh":
            self.refresh = given.get("content") or ""
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self._in_cell = True
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


def test_it_says_all_that_one_asks_first() -> None:
    text = page(PICTURE)
    rows = Tags(text).rows
    assert "closeknit 1.2.3" in text
    assert "up for 1 h 2 min" in text
    assert "Rack b1-r2 fails." in text
    assert ["b1", "3", "1", "1"] in rows
    assert ["research", "nvidia.com/gpu", "12", "8", "4", "3", "2", ""] in rows
    assert ["running", "3"] in rows
    assert ["sweep", "team", "12", "no block is free"] in rows


def test_the_newest_decision_is_first() -> None:
    rows = Tags(page(PICTURE)).rows
    assert rows[-2:] == [
        ["00:00:02", "Waits", "new", "for room", "7 µs"],
        ["00:00:01", "Admitted", "old", "b1", "5 µs"],
    ]


def test_it_asks_for_itself_again_and_has_no_script() -> None:
    tags = Tags(page(PICTURE))
    assert tags.refresh == "3"
    assert {"script", "img", "link", "iframe", "a"} & set(tags.seen) == set()


def test_names_are_shown_and_never_obeyed() -> None:
    bad = "<script>alert(1)</script>"
    picture = PICTURE._replace(
        says=bad,
        jobs=(PictureJob(bad, bad, 1, 0, bad),),
        decisions=(DecisionLine(0.0, bad, bad, bad, 1),),
        queues=(Queue(bad, bad, 1, 1, 1, 1),),
        blocks=(Block(bad, (Rack(bad, (Host(bad),)),)),),
    )
    assert "script" not in Tags(page(picture)).seen


def test_control_and_bidirectional_characters_are_shown_as_escapes() -> None:
    bad = "\x1b[2J\u202edaeh\x00"
    text = page(PICTURE._replace(says=bad, jobs=(PictureJob(bad, bad, 1, 0, bad),)))
    assert "\\u001b[2J\\u202edaeh\\u0000" in text
    assert not set("\x1b\x00\u202e") & set(text)


def test_an_empty_cluster_has_a_page_too() -> None:
    empty = Picture("1", PICTURE.access, 0.0, 5.0)
    assert page(empty).count("<p>none</p>") == 5


def test_times_are_said_shortly() -> None:
    assert [lasting(seconds) for seconds in (0, 59, 61, 3725)] == ["0 s", "59 s", "1 min 1 s", "1 h 2 min"]


def test_jobs_that_are_not_listed_are_counted() -> None:
    assert "<p>and 1,200 more</p>" in page(PICTURE._replace(more_jobs=1200))
    assert "more</p>" not in page(PICTURE)
