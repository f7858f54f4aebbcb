"""Results as CSV files: what is written is what is read, bit by bit, and other files are refused."""

import string
from math import inf, isnan, nan
from typing import get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trisplit
from tests.paper.synthetic import power_fit, runs_with_margins, straight_fit, theory_row
from trisplit.errors import InputError
from trisplit.paper.csv_io import read_csv, write_csv
from trisplit.paper.figure1 import Row as Figure1Row
from trisplit.paper.results import KINDS, read_results, write_results
from trisplit.paper.timing import Share

NAMES = st.text(string.ascii_letters + string.digits + " ,;\"'+-/()=\t²é", min_size=1, max_size=20)
FIELDS = {
    str: NAMES,
    int: st.integers(-(2**70), 2**70),
    float: st.floats(),
    bool: st.booleans(),
}
every_kind = pytest.mark.parametrize("name", KINDS)


def same(ours, theirs):
    """Say whether two rows are of one type and hold the same values of the same types; NaN equals itself here."""
    alike = all(type(a) is type(b) and (a == b or (a != a and b != b)) for a, b in zip(ours, theirs, strict=True))
    return alike and type(ours) is type(theirs)


@every_kind
@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_what_is_written_is_read(name, data, tmp_path_factory):
    kind = KINDS[name]
    fields = [FIELDS[hint] for hint in get_type_hints(kind).values()]
    rows = [kind(*row) for row in data.draw(st.lists(st.tuples(*fields), max_size=8))]
    made_by = data.draw(st.lists(NAMES.map(str.strip), max_size=3))
    path = tmp_path_factory.getbasetemp() / f"{name}.csv"
    write_csv(path, made_by, kind._fields, rows)
    said, again = read_csv(path, kind)
    assert said == made_by
    assert len(again) == len(rows)
    assert all(map(same, again, rows))


def test_the_folder_gives_back_what_it_was_given(tmp_path):
    given = {
        "theory": [theory_row(), theory_row(measured=-0.1), theory_row(bound=inf)],
        "figure1": [Figure1Row("chr12a", "near", "tos", 4, 1e-6, 0.1 + 0.2, 5e-324)],
        "figure1_rates": [straight_fit(), power_fit(slope=nan, r_squared=nan)],
        "figure1_shares": [Share("esc128", "fw", 600.0, 390.5, 36.25)],
        "figure2": runs_with_margins(lambda *_: 0.5, ["nug12", "esc16f"], 2),
    }
    empty = read_results(tmp_path)
    assert (*empty[:-1], set(empty.made_by)) == ([], [], [], [], [], set(given))
    for name, rows in given.items():
        write_results(tmp_path, name, rows, f"trisplit reproduce {name}", ["one machine", "another"])
    results = read_results(tmp_path)
    for name, rows in given.items():
        found = getattr(results, name)
        assert len(found) == len(rows)
        assert all(map(same, found, rows))
        said = [f"trisplit reproduce {name}", f"trisplit {trisplit.__version__}", "one machine", "another"]
        assert results.made_by[name] == said
    assert isnan(results.figure1_rates[1].slope)
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.csv" for name in given}


@every_kind
def test_a_file_with_other_columns_is_refused(name, tmp_path):
    kind = KINDS[name]
    path = tmp_path / f"{name}.csv"
    for columns in (kind._fields[:-1], (*kind._fields, "more"), kind._fields[::-1], ()):
        write_csv(path, ["somebody"], columns, [])
        with pytest.raises(InputError, match=f"{name}.csv does not hold the columns {kind._fields[0]}.*make it anew"):
            read_results(tmp_path)
    path.write_text("")
    with pytest.raises(InputError, match=r"\.csv does not hold the columns"):
        read_results(tmp_path)


@pytest.mark.parametrize("damage", [b"nug12,near,0", b"nug12,near,0,tos,many,True,578", b"\xff\xfe\x00,,,,,,"])
def test_a_damaged_row_is_refused(damage, tmp_path):
    write_results(tmp_path, "figure2", runs_with_margins(lambda *_: 0.5, ["nug12"], 1), "trisplit reproduce figure2")
    path = tmp_path / "figure2.csv"
    path.write_bytes(path.read_bytes() + damage + b"\n")
    with pytest.raises(InputError, match=r"figure2\.csv is damaged; make it anew"):
        read_results(tmp_path)


def test_a_failed_write_leaves_the_file_before(tmp_path, monkeypatch):
    write_results(tmp_path, "theory", [theory_row()], "first")
    before = (tmp_path / "theory.csv").read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_results(tmp_path, "theory", [theory_row(measured=0.1)], "second")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"theory.csv": before}
