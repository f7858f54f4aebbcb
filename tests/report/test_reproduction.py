"""trisplit reproduce all --quick: what it writes, and its report in a browser."""

import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.report.conftest import LOOKS, photograph, resize
from trisplit.cli import run
from trisplit.paper.claims import verdicts
from trisplit.paper.figure2 import COMPARED, QUICK, jobs
from trisplit.paper.instances import family
from trisplit.paper.results import read_results

COMMAND = [sys.executable, "-c", "from trisplit.cli import main; main()"]
CSV = {"figure1.csv", "figure1_rates.csv", "figure1_shares.csv", "figure2.csv", "theory.csv"}
PNG = {
    *("figure1_near.png", "figure1_near_today.png", "figure1_text.png", "figure1_text_today.png"),
    *("figure2_near.png", "figure2_text.png", "figure2_seeds.png", "theory.png"),
}
CHARTS = {
    *("figure-1-near-chr12a", "figure-1-near-chr12a-time", "figure-1-text-chr12a", "figure-1-text-chr12a-time"),
    *("figure-2-near", "figure-2-text", "figure-2-seeds", "corollary-2"),
    *("theorem-1-stationarity", "corollary-1-stationarity", "theorem-2-stationarity", "theorem-2-infeasibility"),
    *("theorem-3-stationarity", "theorem-4-stationarity", "theorem-4-infeasibility"),
}


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """The folder, and what the command printed."""
    out = tmp_path_factory.mktemp("reproduced") / "new" / "folder"
    command = [*COMMAND, "reproduce", "all", "--quick", "--out", str(out)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (ended.returncode, ended.stderr) == (0, "")
    return out, ended.stdout


@pytest.fixture(scope="module")
def results(reproduced):
    return read_results(reproduced[0])


@pytest.fixture
def report(browser, reproduced):
    """The report in the browser; at the end its console must be empty."""
    browser.get((reproduced[0] / "index.html").as_uri())
    yield browser
    assert browser.get_log("browser") == []


def find(report, selector):
    return report.find_elements("css selector", selector)


# The folder


def test_all_files_are_there_and_no_others(reproduced):
    out, _ = reproduced
    assert {path.name for path in out.iterdir()} == {*CSV, *PNG, "figure2.jsonl", "index.html"}
    for name in PNG:
        assert (out / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_the_results_are_complete_and_say_what_made_them(results):
    assert [tuple(run[:4]) for run in results.figure2] == [tuple(job) for job in jobs(QUICK, 1)]
    assert {(row.start, row.method) for row in results.figure1} == {
        (start, method) for start in ("near", "text") for method in ("tos1", "tos", "fw", "today")
    }
    assert len(results.figure1_rates) == 8
    theorems = {"Theorem 1", "Corollary 1", "Theorem 2", "Theorem 3", "Theorem 4"}
    assert {row.theorem for row in results.theory} == theorems
    for lines in results.made_by.values():
        assert lines[0] == "trisplit reproduce all --quick"
        assert re.fullmatch(r"trisplit \d+\.\d+\.\d+.*", lines[1])
    assert any("tolerance 1e-05" in line for line in results.made_by["figure2"])
    assert results.made_by["figure2"][-1].endswith(f": {8 * len(QUICK)} runs")


def test_every_verdict_is_printed(reproduced, results):
    out, printed = reproduced
    found = verdicts(results)
    assert len(found) == 14
    assert printed.splitlines() == [
        *(line for one in found for line in (f"{one.verdict}: {one.claim}", f"    {one.detail}")),
        f"written to {out}; open {out / 'index.html'}",
    ]
    by_claim = {one.claim: one.verdict for one in found}
    assert by_claim["TOS converges locally linearly on chr12a"] == "holds"
    assert by_claim["FW converges sublinearly on chr12a"] == "holds with this initial point"
    for theorem in ("Theorem 1", "Corollary 1", "Theorem 2", "Theorem 3", "Theorem 4"):
        assert by_claim[f"{theorem} bounds the average error"] == "holds"


# The report


def test_every_verdict_is_in_the_report_and_leads_to_its_chart(report, results):
    shown = find(report, ".verdict")
    for element, one in zip(shown, verdicts(results), strict=True):
        assert element.find_element("css selector", ".badge").text.endswith(one.verdict)
        assert one.claim in element.text
        assert one.detail in element.text
        link = element.find_element("css selector", ".figure a").get_attribute("href")
        assert link.partition("#")[2] in CHARTS


def test_no_two_series_of_a_chart_have_the_same_name(report):
    for chart in CHARTS:
        names = [button.text for button in find(report, f"#{chart} .legend button")]
        assert len(set(names)) == len(names), chart


def test_all_charts_are_drawn(report):
    from selenium.webdriver.common.keys import Keys

    assert {figure.get_attribute("id") for figure in find(report, "figure.chart")} == CHARTS
    for chart in CHARTS:
        drawn = [f"#{chart} .picture .{mark}" for mark in ("bar", "line", "mark")]
        assert find(report, ", ".join(drawn)), chart
        stage = find(report, f"#{chart} .stage")[0]
        report.execute_script("arguments[0].focus()", stage)
        stage.send_keys(Keys.ARROW_RIGHT)
        assert re.search(r"\d", find(report, f"#{chart} .readout")[0].text), chart


def test_all_pictures_are_shown_and_nothing_is_loaded(report):
    pictures = find(report, "img")
    assert len(pictures) == len(PNG)
    for picture in pictures:
        report.execute_script("return arguments[0].decode()", picture)
        assert int(picture.get_property("naturalWidth")) > 300
    addresses = report.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
    assert [one for one in addresses if not one.startswith("data:")] == []


def test_all_sections_and_files_are_named(report):
    titles = [one.text for one in find(report, "h2")]
    for words in ("claims", "Figure 1", "Figure 2", "Theorems", "What made"):
        assert any(words in title for title in titles)
    page = find(report, "body")[0].text
    for name in CSV:
        assert name in page
    assert "nan" not in page.lower().split()


@pytest.mark.parametrize("start", ["near", "text"])
def test_the_filter_of_figure_2_leaves_one_family(report, start):
    from selenium.webdriver.support.ui import Select

    chart = f"#figure-2-{start}"
    select = Select(find(report, f"{chart} select")[0])
    families = sorted({family(name) for name in QUICK})
    assert sorted(one.text for one in select.options) == sorted(["all families", *families])
    everything = len(find(report, f"{chart} .picture .bar"))
    assert everything == len(QUICK) * len(COMPARED)
    for one in families:
        select.select_by_visible_text(one)
        names = {name for name in QUICK if family(name) == one}
        assert {element.text for element in find(report, f"{chart} .name")} == names
        assert len(find(report, f"{chart} .picture .bar")) == len(names) * len(COMPARED) < everything
    select.select_by_visible_text("all families")
    assert len(find(report, f"{chart} .picture .bar")) == everything


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_never_scrolls_sideways(report, width):
    resize(report, width)
    page = "document.documentElement"
    assert report.execute_script(f"return {page}.scrollWidth - {page}.clientWidth") <= 0


@pytest.mark.parametrize(("name", "width", "scheme"), LOOKS)
def test_pictures_for_the_eye(report, tmp_path, name, width, scheme):
    path = tmp_path / f"reproduction-{name}.png"
    photograph(report, path, width, scheme)
    assert path.stat().st_size > 10_000


# Bad arguments


def refused(arguments, capsys):
    """Return the one line that a command ends with, at status 2 and before it computes anything."""
    assert run(["reproduce", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("trisplit: ")
    return err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["figure3"], "'figure3'"),
        (["figure3"], "theory, figure1, figure2, all"),
        ([""], "theory, figure1, figure2, all"),
        ([], "figure1|figure2|theory|all"),
        (["figure1", "figure2"], "figure2"),
        (["figure2", "--instances", "nug31"], "nug30"),
        (["figure2", "--instances", "nug12,"], "trisplit list"),
        (["figure2", "--workers", "0"], "--workers"),
        (["figure2", "--device", "gpu"], "cpu or cuda"),
        (["figure2", "--device", "cudaX"], "cpu or cuda"),
        (["figure2", "--fast"], "--fast"),
        (["figure2", "--quick", "--out"], "--out"),
    ],
)
def test_bad_arguments_are_one_line_and_leave_no_folder(arguments, named, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert named in refused(arguments, capsys)
    assert list(tmp_path.iterdir()) == []


def test_a_gpu_that_is_not_there_is_one_line(tmp_path, monkeypatch, capsys):
    if find_spec("torch") is not None:
        monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.chdir(tmp_path)
    err = refused(["figure2", "--quick", "--device", "cuda"], capsys)
    assert "--device cuda" in err
    assert ("leave the option out" in err) or ("pip install 'trisplit[torch]'" in err)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("content")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        err = refused(["all", "--quick", "--out", str(path)], capsys)
        assert f"--out {path} cannot be a folder" in err
        assert "choose another path" in err
    assert (tmp_path / "file").read_text() == "content"
