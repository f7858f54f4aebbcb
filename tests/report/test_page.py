"""The file that a report becomes: it loads nothing, holds what it was given, and no name breaks out of it."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

from trisplit.errors import InputError
from trisplit.report import COLOURS, Chart, Frames, Image, Section, Series, Table, Text, Verdict, page, write_page
from trisplit.report.page import SCRIPTS, own_script

HOSTILE = (
    "</script><script>alert(1)</script>",
    "--><!--<script>",
    "\"' onload=alert(1) x='",
    "</title></style><img src=x onerror=alert(1)>",
    "&lt;b&gt; &amp; ]]>",
    "\u2028\u202e\x00\ud800 nul, line and half of a pair",
    "`</code><script>`",
    "https://example.org/\"onclick='alert(1)'><b>",
)
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
LOADING = {"src", "srcset", "href", "data", "action", "poster", "background", "formaction", "ping", "manifest"}


class Reader(HTMLParser):
    """What a browser finds in a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.words, self.inside = [], [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "input"):
            self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside != "style":
            self.words.append(data)

    def payloads(self):
        kinds = [attributes.get("type") for tag, attributes in self.tags if tag == "script"]
        return [json.loads(text) for kind, text in zip(kinds, self.scripts, strict=True) if kind]


def everything(name="a name"):
    """A page with all blocks, where everything that can be named has this name."""
    bars = Series(name, [name, f"{name} 2"], [0.5, 0], labels=name, groups=[name, "other"])
    curve = Series(name, [1, 2], [3.5, float("nan")], labels=[name, name], groups=name, colour="#123456")
    blocks = [
        Text(f"{name}\n\n{name}"),
        Verdict(name, "holds", name, name),
        Verdict(name, "not decided", "fig-1", name),
        Chart("fig-1", name, "bars", [bars], name, name, note=name, filter_label=name),
        Chart("fig-2", name, "lines", [curve], name, name),
        Table(name, [name, name], [[name, 1.5], [name, None]], note=name),
        Table(name, [name], [[name]], numeric=False),
        Frames(name, (1, 2), np.array([[[0, 255]], [[255, 0]]], dtype=np.uint8), [name, name], note=name),
        Image(PIXEL, name, note=name),
    ]
    return page(name, name, [Section(name, blocks), Section(name, [])], name)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_becomes_markup(name):
    found, plain = Reader(everything(name)), Reader(everything())
    shape = [(tag, sorted(attributes)) for tag, attributes in found.tags if tag not in ("a", "code")]
    assert shape == [(tag, sorted(attributes)) for tag, attributes in plain.tags if tag not in ("a", "code")]
    assert not [attributes for _, attributes in found.tags if any(key.startswith("on") for key in attributes)]
    assert found.scripts[-1] == own_script()
    assert found.payloads()[0]["series"][0]["name"] == name


@pytest.mark.parametrize("name", HOSTILE[:4])
def test_names_are_read_as_they_are(name):
    assert name in "".join(Reader(everything(name)).words)


def test_nothing_is_loaded():
    found = Reader(everything("https://example.org/x"))
    for tag, attributes in found.tags:
        for key in LOADING & set(attributes):
            local = attributes[key].startswith(("data:", "#"))
            assert local or tag == "a", f"{tag} loads {attributes[key]}"
    style = files("trisplit.report").joinpath("page.css").read_text("utf-8")
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|WebSocket|innerHTML|eval\(", own_script())


def test_the_policy_names_the_own_script_and_style_alone():
    text = everything()
    policy = next(a["content"] for t, a in Reader(text).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for content in (re.findall(r"<style>(.*?)</style>", text, re.S)[0], Reader(text).scripts[-1]):
        assert base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() in policy


def test_ids_are_unique_and_links_lead_somewhere():
    found = Reader(everything())
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [attributes["href"] for tag, attributes in found.tags if tag == "a"]
    assert {target[1:] for target in targets} <= set(ids)
    assert "#fig-1" in targets
    pointed = [attributes["aria-labelledby"] for _, attributes in found.tags if "aria-labelledby" in attributes]
    assert set(pointed) <= set(ids)


def test_headings_are_in_order_and_the_page_has_its_landmarks():
    tags = [tag for tag, _ in Reader(everything()).tags]
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert {"main", "header", "nav", "footer", "noscript"} <= set(tags)
    assert ("html", {"lang": "en"}) in Reader(everything()).tags


def test_numbers_that_json_does_not_know_are_missing():
    y = [float("nan"), float("inf"), -np.inf, None, 1e308, np.float32(0.5), np.int64(7)]
    series = Series("s", np.arange(7), y)
    assert series.y == (None, None, None, None, None, 0.5, 7)
    payload = Reader(page("t", sections=[Section("s", [Chart("c", "t", "lines", [series], "x", "y")])])).payloads()[0]
    assert payload["series"][0]["y"] == [None] * 5 + [0.5, 7]


def test_numbers_arrive_to_the_last_digit():
    y = np.random.default_rng(0).lognormal(0, 20, 50)
    chart = Chart("c", "t", "points", [Series("s", y, y)], "x", "y")
    assert Reader(page("t", sections=[Section("s", [chart])])).payloads()[0]["series"][0]["y"] == y.tolist()


def test_frames_arrive_byte_by_byte():
    values = np.random.default_rng(0).integers(0, 256, (3, 4, 5), dtype=np.uint8)
    frames = Frames("x", (4, 5), values.transpose(0, 2, 1).copy().transpose(0, 2, 1), ["a", "b", "c"])
    payload = Reader(page("t", sections=[Section("s", [frames])])).payloads()[0]
    assert base64.b64decode(payload["values"]) == values.tobytes()
    assert (payload["rows"], payload["columns"], payload["captions"]) == (4, 5, ["a", "b", "c"])


def test_the_file_is_replaced_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("before")
    write_page(path, "A title", "below", [Section("one", [Text("text")])], "the end")
    assert path.read_text(encoding="utf-8") == page("A title", "below", [Section("one", [Text("text")])], "the end")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "media_type"),
    [(PIXEL, "image/png"), (b"\xff\xd8\xff\xe0", "image/jpeg"), (b"RIFF0000WEBP", "image/webp")]
    + [(text, "image/svg+xml") for text in (b"<svg/>", b"\xef\xbb\xbf<?xml version='1.0'?><svg/>", b"\n <svg/>")],
)
def test_pictures_are_parts_of_the_page(tmp_path, content, media_type):
    (tmp_path / "picture").write_bytes(content)
    for source in (content, tmp_path / "picture", str(tmp_path / "picture")):
        assert Image(source, "x").content() == (media_type, content)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: Series("s", [1, 2], [1]), "`y` of the series 's' has 1 values"),
        (lambda: Series("s", [1, 2], [1, 2], groups=["a"]), "`groups`"),
        (lambda: Series("s", [1], ["one"]), "`y` must hold numbers"),
        (lambda: Series("s", [1], [1], colour="red"), "#rrggbb"),
        (lambda: Series("s", [1], [1], colour=8), r"0\.\.7"),
        (lambda: Chart("1 2", "t", "lines", [], "x", "y"), "`id` must be a letter"),
        (lambda: Chart("c", "t", "pie", [], "x", "y"), "lines, points, bars"),
        (lambda: Chart("c", "t", "bars", [Series("s", [1], [1])], "x", "y"), "names of categories"),
        (lambda: Chart("c", "t", "lines", [Series("s", ["a"], [1])], "x", "y"), "must be numbers"),
        (lambda: Chart("c", "t", "bars", [Series("s", ["a", "a"], [1, 2])], "x", "y"), "twice"),
        (lambda: Table("t", ["a", "b"], [["x"]]), "a row of 1 cells for 2 columns"),
        (lambda: Verdict("c", "perhaps"), "'does not hold'"),
        (lambda: Frames("t", (2, 2), np.zeros((1, 2, 2)), ["a"]), "uint8"),
        (lambda: Frames("t", (2, 2), np.zeros((1, 2, 2), np.uint8), ["a", "b"]), r"\(2, 2, 2\)"),
        (lambda: Image(b"text", "x").content(), "PNG"),
        (lambda: page("t", sections=[Section("s", [Chart("c", "t", "bars", [], "x", "y")] * 2)]), "'c' twice"),
    ],
)
def test_errors_say_what_is_wrong(wrong, words):
    with pytest.raises(InputError, match=words):
        wrong()


def test_all_scripts_and_colours_are_there():
    folder = files("trisplit.report")
    assert sorted(SCRIPTS) == sorted(one.name for one in folder.iterdir() if one.name.endswith(".js"))
    style = folder.joinpath("page.css").read_text("utf-8")
    light = dict(re.findall(r"--series-(\d): (#\w+);", style[: style.index("prefers-color-scheme")]))
    assert [light[str(place)].upper() for place in range(len(COLOURS))] == list(COLOURS)


def test_no_file_is_longer_than_400_lines():
    sources = [one for one in files("trisplit.report").iterdir() if one.name.endswith((".js", ".css"))]
    assert [one.name for one in sources if len(one.read_text("utf-8").splitlines()) > 400] == []


def test_the_package_does_not_load_reports():
    code = "import sys, trisplit; print('trisplit.report' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
