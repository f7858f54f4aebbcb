"""What a reader sees and does: in a browser, with a mouse, with a keyboard, in a narrow window and in the dark."""

import re
import time

import numpy as np
import pytest

from tests.report.conftest import LOOKS, emulate, photograph, resize
from trisplit.report import Chart, Frames, Section, Series, Table, Text, Verdict, write_page

NAMES = [f"{family}{n}{letter}" for family in ("bur", "chr", "lipa", "tai") for n in range(12, 20) for letter in "abcd"]
FAMILIES = [re.sub(r"\d.*", "", name) for name in NAMES]
# Whether the lines are drawn for the width that the window has now.
FITS = """const [stage, axis, picture] = ["stage", "axis", "picture"].map((name) => (
  document.querySelector(`#curves .${name}`).getBoundingClientRect().width));
return Math.abs(stage - axis - picture) < 3"""
METHODS = ("splitting", "Frank-Wolfe", "gradient")


def bars():
    rng = np.random.default_rng(0)
    errors = 10 ** rng.normal(-2, 0.7, (3, len(NAMES))) * (rng.random((3, len(NAMES))) > 0.2)
    errors[2, 7] = np.nan
    return [Series(name, NAMES, values, groups=FAMILIES) for name, values in zip(METHODS, errors, strict=True)]


def curves():
    k = np.unique(np.geomspace(1, 1e5, 60).astype(int))
    return [
        Series(f"{rate}", k, np.where(k < 3e4, k ** (-rate), 0.0), labels=f"tai{rate}", dash=rate > 1, marker=rate > 1)
        for rate in (0.5, 1.0, 1.5)
    ]


@pytest.fixture
def report(browser, tmp_path):
    """The browser with a page of everything; at the end its console must be empty."""
    n = np.random.default_rng(1).permutation(12)
    frames = np.stack([np.full((12, 12), 21), 127 * np.eye(12)[n], 255 * np.eye(12)[n]]).astype(np.uint8)
    scatter = [Series(one.name, np.arange(len(NAMES)) + 10, one.y, labels=NAMES, groups=FAMILIES) for one in bars()]
    sections = [
        Section(
            "Claims",
            [Text("Text with `code`. " * 20), *[Verdict(f"Claim {k}", "holds", "errors", "why " * 30) for k in "ab"]],
        ),
        Section(
            "Figures",
            [
                Chart("errors", "Errors", "bars", bars(), "instance", "error", y_log=True, filter_label="families"),
                Chart("curves", "Curves", "lines", curves(), "iteration", "residual", x_log=True, y_log=True),
                Chart("scatter", "Size", "points", scatter, "n", "error", y_log=True, filter_label="families"),
                Chart("minus", "Signs", "bars", [Series("change", ["a", "b"], [-1, 2])], "case", "change"),
                Table("Numbers", ["instance", *METHODS], [[name, 0.1, 1e-9, 12345678] for name in NAMES]),
                Frames("Matrix", (12, 12), frames, ["iteration 0", "iteration 10", "iteration 20"]),
            ],
        ),
    ]
    write_page(tmp_path / "report.html", "A report", "about much", sections, "the end")
    browser.get((tmp_path / "report.html").as_uri())
    yield browser
    assert browser.get_log("browser") == []


def find(report, selector):
    return report.find_elements("css selector", selector)


def text(report, selector):
    return report.execute_script("return document.querySelector(arguments[0]).textContent", selector)


def ticks(report, chart):
    return [one.text for one in find(report, f"#{chart} .axis text")]


def focus(report, selector):
    element = find(report, selector)[0]
    report.execute_script("arguments[0].focus()", element)
    return element


def click(report, selector, words):
    button = next(one for one in find(report, selector) if one.text == words)
    button.click()
    return button


def overflow(report):
    """How far the page is wider than the window."""
    page = "document.documentElement"
    return report.execute_script(f"return {page}.scrollWidth - {page}.clientWidth")


def wait(condition):
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def test_the_page_comes_from_the_disk_alone(report):
    assert report.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [one.text for one in find(report, "nav a")] == ["Claims", "Figures"]
    assert not find(report, ".notice:not([hidden])")


def test_every_value_is_drawn_and_zeros_are_marked(report):
    values = np.array([one.y for one in bars()], dtype=float)
    assert len(find(report, "#errors .picture .bar")) == np.isfinite(values).sum()
    assert len(find(report, "#errors .picture .zero")) == (values == 0).sum()
    assert "0" in ticks(report, "errors")
    assert len(find(report, "#scatter .picture .mark")) == np.isfinite(values).sum()
    assert len(find(report, "#curves .picture .line")) == 3
    assert len(find(report, "#curves .picture .zero")) == sum(one.y.count(0) for one in curves())


def test_the_filter_leaves_one_family(report):
    from selenium.webdriver.support.ui import Select

    select = Select(find(report, "#errors select")[0])
    assert [one.text for one in select.options] == ["all families", "bur", "chr", "lipa", "tai"]
    select.select_by_visible_text("lipa")
    assert len(find(report, "#errors .picture .bar")) == 3 * FAMILIES.count("lipa")
    assert {one.text for one in find(report, "#errors .name")} == {name for name in NAMES if name.startswith("lipa")}
    select.select_by_visible_text("all families")
    assert len(find(report, "#errors .name")) == len(NAMES)


def test_the_switch_changes_the_axis(report):
    before = ticks(report, "curves")
    linear = click(report, "#curves .switch.y button", "linear")
    pressed = [one.get_attribute("aria-pressed") for one in find(report, "#curves .switch.y button")]
    assert (linear.get_attribute("aria-pressed"), pressed) == ("true", ["true", "false"])
    after = ticks(report, "curves")
    steps = np.diff([float(one) for one in after])
    assert np.allclose(steps, steps[0])
    click(report, "#curves .switch.y button", "log")
    assert ticks(report, "curves") == before != after
    assert not find(report, "#errors .switch.x")  # categories have no logarithm


def test_what_a_logarithm_cannot_show_is_said(report):
    click(report, "#minus .switch.y button", "log")
    assert "One value is negative" in text(report, "#minus .notice")
    assert find(report, "#minus .notice")[0].is_displayed()


def test_the_legend_hides_series(report):
    button = click(report, "#curves .legend button", "1.0")
    assert button.get_attribute("aria-pressed") == "false"
    assert len(find(report, "#curves .picture .line")) == 2
    button.click()
    assert len(find(report, "#curves .picture .line")) == 3


def test_arrow_keys_read_bars(report):
    from selenium.webdriver.common.keys import Keys

    stage, readout = focus(report, "#errors .stage"), "#errors .readout"
    stage.send_keys(Keys.ARROW_RIGHT)
    assert text(report, readout).startswith(f"{NAMES[0]}, splitting: error ")
    stage.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert text(report, readout).startswith(f"{NAMES[2]}, splitting: ")
    stage.send_keys(Keys.ARROW_DOWN)
    assert text(report, readout).startswith(f"{NAMES[2]}, Frank-Wolfe: ")
    assert text(report, "#errors .tip").startswith(NAMES[2])
    stage.send_keys(Keys.END)
    assert text(report, readout).startswith(f"{NAMES[-1]}, Frank-Wolfe: ")
    stage.send_keys(Keys.ESCAPE)
    assert not find(report, "#errors .tip")[0].is_displayed()


def test_arrow_keys_read_lines(report):
    from selenium.webdriver.common.keys import Keys

    stage = focus(report, "#curves .stage")
    stage.send_keys(Keys.ARROW_RIGHT)
    assert text(report, "#curves .readout") == "tai0.5, 0.5: iteration 1, residual 1"
    stage.send_keys(Keys.ARROW_UP, Keys.END)
    assert text(report, "#curves .readout") == "tai1.5, 1.5: iteration 100,000, residual 0"


def test_tab_reaches_the_charts_and_the_focus_is_seen(report):
    from selenium.webdriver.common.keys import Keys

    active = "return document.activeElement.className"
    for _ in range(40):
        report.switch_to.active_element.send_keys(Keys.TAB)
        if report.execute_script(active) == "stage":
            break
    assert report.execute_script(active) == "stage"
    assert report.execute_script("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_pointer_reads_values(report):
    from selenium.webdriver import ActionChains

    mark = find(report, "#scatter .picture .mark")[40]
    report.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", mark)
    ActionChains(report).move_to_element(mark).perform()
    tip = find(report, "#scatter .tip")[0]
    assert tip.is_displayed()
    name = tip.text.splitlines()[0]
    assert name in NAMES
    assert text(report, "#scatter .readout").startswith(f"{name}, ")
    ActionChains(report).move_to_element(find(report, "h1")[0]).perform()
    assert not tip.is_displayed()


@pytest.mark.parametrize("width", [320, 360, 768, 1280, 2000])
def test_the_page_never_scrolls_sideways(report, width):
    resize(report, width)
    wait(lambda: report.execute_script("return innerWidth") == width and report.execute_script(FITS))
    assert overflow(report) <= 0
    if width < 400:  # bars and tables scroll in their own boxes
        boxes = find(report, "#errors .scroller, .scroll")
        wider = "return arguments[0].scrollWidth > arguments[0].clientWidth"
        assert [report.execute_script(wider, box) for box in boxes] == [True, True]


@pytest.mark.parametrize("chart", ["errors", "curves"])
def test_the_tip_never_hides_its_point(report, chart):
    from selenium.webdriver.common.keys import Keys

    apart = """const [tip, ring] = ["tip", "ring"].map((name) => (
      document.querySelector(`#${arguments[0]} .${name}`).getBoundingClientRect()));
    return tip.right < ring.left || ring.right < tip.left || tip.bottom < ring.top || ring.bottom < tip.top"""
    resize(report, 360)
    wait(lambda: len(find(report, "#errors .panel")) == 1 and report.execute_script(FITS))
    stage = focus(report, f"#{chart} .stage")
    for _ in range(30):
        stage.send_keys(Keys.ARROW_RIGHT)
        assert report.execute_script(apart, chart), text(report, f"#{chart} .readout")


def test_arrow_keys_scroll_narrow_bars(report):
    from selenium.webdriver.common.keys import Keys

    resize(report, 360)
    wait(lambda: len(find(report, "#errors .panel")) == 1)
    focus(report, "#errors .stage").send_keys(Keys.ARROW_RIGHT, Keys.END)
    assert report.execute_script("return document.querySelector('#errors .scroller').scrollLeft") > 300
    assert overflow(report) <= 0


def test_the_dark_is_dark(report):
    def lightness(selector, what):
        script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
        return np.mean([int(part) for part in re.findall(r"\d+", report.execute_script(script, selector, what))[:3]])

    assert lightness("body", "backgroundColor") > 240 > 80 > lightness("body", "color")
    emulate(report, "dark")
    assert lightness("body", "backgroundColor") < 40 < 200 < lightness("body", "color")


def test_black_is_light_in_the_dark(report):
    emulate(report, "dark")
    assert report.execute_script("return getComputedStyle(document.body).getPropertyValue('--series-6')") == "#f4f4f4"


def pixels(report):
    return report.execute_script("return document.querySelector('canvas').toDataURL()")


def test_the_slider_changes_the_matrix(report):
    from selenium.webdriver.common.keys import Keys

    before = pixels(report)
    assert text(report, ".caption") == "iteration 0"
    focus(report, "input[type=range]").send_keys(Keys.ARROW_RIGHT)
    assert text(report, ".caption") == "iteration 10"
    assert find(report, "input[type=range]")[0].get_attribute("aria-valuetext") == "iteration 10"
    light = pixels(report)
    assert light != before
    emulate(report, "dark")
    wait(lambda: pixels(report) != light)


def test_play_runs_to_the_end_and_pause_stops(report):
    button = find(report, ".frames button")[0]
    emulate(report, motion="no-preference")
    report.execute_script("arguments[0].click()", button)
    assert button.text == "Pause"
    wait(lambda: button.text == "Play")
    assert text(report, ".caption") == "iteration 20"
    emulate(report, motion="reduce")  # now a frame takes a second
    button.click()
    button.click()
    assert (button.text, text(report, ".caption")) == ("Play", "iteration 0")


def test_arrow_keys_read_the_matrix(report):
    from selenium.webdriver.common.keys import Keys

    focus(report, "canvas").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert text(report, ".frames .readout") == "row 2, column 2: 0.08"


def test_print_shows_all_bars_and_rows(report):
    report.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    emulate(report, media="print")
    assert len(find(report, "#errors .panel")) > 3
    inside = (
        "return [...document.querySelectorAll('.scroller, .scroll')].every(e => e.scrollWidth <= e.clientWidth + 1)"
    )
    assert report.execute_script(inside)
    assert report.execute_script("return getComputedStyle(document.querySelector('.tools')).display") == "none"
    report.execute_script("window.dispatchEvent(new Event('afterprint'))")


def test_without_javascript_there_are_tables(report):
    report.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        report.refresh()
        assert find(report, ".noscript")[0].is_displayed()
        assert len(find(report, "tbody tr")) == len(NAMES)
    finally:
        report.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize(("name", "width", "scheme"), LOOKS)
def test_pictures_for_the_eye(report, tmp_path, name, width, scheme):
    path = tmp_path / f"{name}.png"
    photograph(report, path, width, scheme)
    assert path.stat().st_size > 10_000
