"""The bundled instances are what the literature says, and a file from a user is read exactly or refused."""

import errno
import importlib.util
import os
import re
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trisplit.errors import InputError
from trisplit.qap import qaplib
from trisplit.qap.instance import Instance
from trisplit.qap.qaplib import load, names, read, table

UNCONFIRMED = {"esc32a", "esc32b", "esc32c", "esc32d", "esc32h", "esc64a", "tai10a", "tai10b", "tai100a"}
SCRIPT = Path(__file__).parents[2] / "tools" / "build_qaplib.py"


def one_line(caught):
    message = str(caught.value)
    assert "\n" not in message
    assert ";" in message, "no remedy"
    return message


# The bundle


@pytest.mark.parametrize("name", names())
def test_bundled_solution_costs_exactly_the_best_known_value(name):
    instance = load(name)
    assert (instance.solution is None) == (name in UNCONFIRMED)
    if instance.solution is not None:
        assert instance.cost(instance.solution) == instance.best_known
    assert instance.best_known is not None
    for p in (np.arange(instance.n), np.arange(instance.n)[::-1]):
        assert instance.best_known <= instance.cost(p)
    assert instance.A.dtype == instance.B.dtype == np.int64


def test_names_are_complete_and_in_natural_order():
    def family_number_letter(name):
        ((family, number, letter),) = re.findall(r"^([a-z]+)(\d+)([a-z]?)$", name)
        return family, int(number), letter

    assert len(names()) == len(set(names())) == 136
    assert names() == sorted(names(), key=family_number_letter)
    names().clear()
    assert len(names()) == 136, "the caller's list is the caller's"


def test_table_agrees_with_the_instances():
    assert [entry.name for entry in table()] == names()
    for entry in table():
        instance = load(entry.name)
        assert entry.n == instance.n
        for known in ("best_known", "proven", "lower_bound", "in_paper"):
            assert getattr(entry, known) == getattr(instance, known)
        assert entry.proven == (entry.lower_bound == entry.best_known)
        assert entry.lower_bound <= entry.best_known


def test_the_paper_uses_all_but_two():
    assert {entry.name for entry in table() if not entry.in_paper} == {"tai10a", "tai10b"}


def test_a_best_known_value_of_zero_is_known():
    esc16f = load("esc16f")
    assert esc16f.best_known == 0
    assert esc16f.proven
    assert not esc16f.A.any() or not esc16f.B.any()


def test_bundle_is_small_and_needs_no_pickle():
    source = resources.files("trisplit.qap") / "data" / "qaplib.npz"
    assert len(source.read_bytes()) < 1.5e6
    with source.open("rb") as file, np.load(file, allow_pickle=False) as bundle:
        assert all(bundle[key].dtype.kind != "O" for key in bundle)


def test_unknown_name_suggests_the_nearest():
    for name in ("nug31", "NUG30", "nug"):
        with pytest.raises(InputError) as caught:
            load(name)
        message = one_line(caught)
        assert repr(name) in message
        assert "nug" in message.replace(repr(name), "")
        assert "trisplit list" in message


@pytest.mark.parametrize("name", ["", "x\ny", "q" * 1000, None, 30, "a.dat", "folder/nug30", b"nug30"])
def test_any_unknown_name_is_an_input_error(name):
    with pytest.raises(InputError) as caught:
        load(name)
    assert "`name`" in one_line(caught)


# Files from users

WHOLE = st.integers(-(2**63), 2**63 - 1)
REAL = st.floats(allow_nan=False, allow_infinity=False)
BLANKS = st.sampled_from([" ", "\n", "\t", "\r\n", ",", ", ", "\n\n  ", " ,\n", "\v", "\f"])


@pytest.mark.parametrize(("entries", "dtype", "spell"), [(WHOLE, np.int64, str), (REAL, np.float64, repr)])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_round_trip_with_any_separators(tmp_path, entries, dtype, spell, data):
    n = data.draw(st.integers(1, 4))
    numbers = data.draw(st.lists(entries, min_size=2 * n * n, max_size=2 * n * n))
    blanks = data.draw(st.lists(BLANKS, min_size=2 * n * n + 1, max_size=2 * n * n + 1))
    path = tmp_path / "trip.dat"
    words = [str(n), *map(spell, numbers)]
    path.write_bytes("".join(word + blank for word, blank in zip(words, blanks, strict=True)).encode())
    instance = read(path)
    expected = np.array(numbers, dtype).reshape(2, n, n)
    assert instance.A.dtype == instance.B.dtype == dtype
    assert np.array_equal(instance.A, expected[0])
    assert np.array_equal(instance.B, expected[1])


def test_a_file_carries_its_name_and_nothing_else(tmp_path):
    path = tmp_path / "my.problem.dat"
    path.write_text("1\n2\n3")
    instance = read(str(path))
    assert instance.name == "my.problem"
    assert instance.best_known is instance.lower_bound is instance.solution is instance.C is None


@pytest.mark.parametrize("name", ["bur26a", "esc16f", "tai64c"])
def test_a_bundled_instance_survives_writing_and_reading(tmp_path, name):
    instance = load(name)
    path = tmp_path / f"{name}.dat"
    rows = [
        str(instance.n),
        *(" ".join(map(str, row)) for M in (instance.A, instance.B) for row in M.tolist()),
    ]
    path.write_text("\n".join(rows))
    assert read(path).sha256() == instance.sha256()


@pytest.mark.parametrize(
    ("text", "A"),
    [
        ("\ufeff1 2 3", [[2]]),
        ("+1 +2 -3", [[2]]),
        ("001 -0002 3", [[-2]]),
        ("0" * 5000 + "1 2 3", [[2]]),
        ("1 0000000000000000000000000000000007 3", [[7]]),
        ("1 -9223372036854775808 9223372036854775807", [[-(2**63)]]),
        ("1 .5 3.", [[0.5]]),
        ("1 1e2 -1E-2", [[100.0]]),
        ("1 99999999999999999999 0.5", [[1e20]]),
    ],
)
def test_spellings_of_numbers(tmp_path, text, A):
    path = tmp_path / "spelling.dat"
    path.write_text(text, encoding="utf-8")
    assert read(path).A.tolist() == A


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "empty"),
        (b" \n, \n", "empty"),
        (b"\x00\x01\x02\x03", "not plain text"),
        (b"2 1 2 3 \xff\xfe 5 6 7 8", "not plain text"),
        ("2 1 2 3".encode("utf-16"), "not plain text"),
        (b"x 1 2", "'x' in line 1"),
        (b"\n\n2.5 1 2", "'2.5' in line 3"),
        (b"0", "'0'"),
        (b"-2 1 2", "'-2'"),
        (b"nan 1 2", "'nan'"),
        (b"9" * 5000, "n = 99999999999999999999..."),
        (b"1000000000 1 2", "n = 1000000000"),
        (b"20000 1 2", "n = 20000"),
        (b"2\n1 2 3 4\n5 6 7", "needs 8 numbers after it, found 7"),
        (b"2", "needs 8 numbers after it, found 0"),
        (b"1 2 3 4", "needs 2 numbers after it, found 3"),
        (b"2\n1 2 3 4\n5 6 x7 8", "'x7' in line 3"),
        (b"2 1 2 3 4 5 6 7 8 # a comment", "'#' in line 1"),
        (b"1 3-4", "'3-4'"),
        (b"1 1_0 2", "'1_0'"),
        (b"1 0x1 2", "'0x1'"),
        (b"1 1e 2", "'1e'"),
        (b"1 - 2", "'-'"),
        (b"1 . 2", "'.'"),
        (b"1 1.2.3 2", "'1.2.3'"),
        (b"1 1d3 2", "'1d3'"),
        ("1 2\u00a03 4".encode(), "not plain text"),
        ("1 \u22122 4".encode(), "'\u22122'"),
        (b"1\nnan 2", "finite numbers, found 'nan' in line 2"),
        (b"1\n2 -Infinity", "finite numbers, found '-Infinity' in line 2"),
        (b"1 2\n 1e999", "float64, found '1e999' in line 2"),
        (b"1 2\n 9223372036854775808", "int64, found '9223372036854775808' in line 2"),
        (b"1 -9223372036854775809 0", "int64, found '-9223372036854775809'"),
        (b"1 0 " + b"9" * 5000, "int64, found '99999999999999999999...'"),
        (b"1 " + b"z" * 5000, "'zzzzzzzzzzzzzzzzzzzz...'"),
    ],
)
def test_bad_contents_raise_one_line_with_file_and_remedy(tmp_path, content, found):
    path = tmp_path / "bad.dat"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path)
    message = one_line(caught)
    assert repr(str(path)) in message
    assert found in message
    assert len(message) < len(str(path)) + 200


@pytest.mark.parametrize("name", ["missing.dat", "", "two\nlines.dat", "nul\0.dat", "x" * 5000])
def test_what_cannot_be_opened_is_named(tmp_path, name):
    path = tmp_path / name  # the empty name is the folder itself
    with pytest.raises(InputError) as caught:
        read(path)
    assert repr(str(path)) in one_line(caught)


def test_a_bundled_name_is_for_load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("nug30", "nug30.dat"):
        with pytest.raises(InputError) as caught:
            read(path)
        assert "`load('nug30')`" in one_line(caught)


@pytest.mark.parametrize("path", [None, 3, b"nug30.dat", ["nug30.dat"]])
def test_what_is_not_a_path_is_an_input_error(path):
    with pytest.raises(InputError) as caught:
        read(path)
    assert "`path`" in one_line(caught)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_rather_than_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.dat")
    with pytest.raises(InputError, match="not a regular file"):
        read(tmp_path / "pipe.dat")


def test_an_unreadable_file_gives_the_reason(tmp_path, monkeypatch):
    path = tmp_path / "locked.dat"
    path.write_text("1 2 3")

    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError) as caught:
        read(path)
    assert "Permission denied" in one_line(caught)


def test_an_oversized_file_is_refused_by_its_size_alone(tmp_path, monkeypatch):
    path = tmp_path / "huge.dat"
    with path.open("wb") as file:
        file.truncate(qaplib.MAX_BYTES + 1)  # sparse: it takes no space

    def fail(*_, **__):
        raise AssertionError("opened")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(qaplib.MAX_BYTES) in one_line(caught)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary() | st.text("0123456789+-.,eE \n", max_size=60).map(str.encode))
def test_any_bytes_give_an_instance_or_an_input_error(tmp_path, content):
    path = tmp_path / "fuzz.dat"
    for prefix in (b"", b"1 ", b"2 1 2 3 4 5 6 7 "):
        path.write_bytes(prefix + content)
        try:
            assert isinstance(read(path), Instance)
        except InputError as error:
            assert "\n" not in str(error)


# The script that builds the bundle


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("build_qaplib", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HEADER = "name,n,best_known,proven_optimal,lower_bound,in_paper"
# A has one entry, so p costs B[p[0],p[1]]: for P (counted from 1) 4, the smallest of all, for its inverse 7.
DAT = "3\n0 1 0\n0 0 0 0 0 0\n\n0 5 9 9 0 4 7 9 0"
P, INVERSE = "2 3 1", "3 1 2"


@pytest.fixture
def folder(tmp_path):
    """Three instances: made2 before made10 by nature, and one without a solution."""
    source = tmp_path / "source"
    source.mkdir()
    rows = ["made10,3,4,yes,4,yes", "made2,3,4,no,3,no", "bare,3,4,yes,4,yes"]
    (source / "best_known.csv").write_text("\n".join([HEADER, *rows]))
    for name in ("made2", "made10", "bare"):
        (source / f"{name}.dat").write_text(DAT)
    (source / "made2.sln").write_text(f"3 4\n{P}")
    (source / "made10.sln").write_text(f"3, 4,\n{INVERSE.replace(' ', ',')}\n")
    return source


def test_building_twice_gives_the_same_bytes(script, folder, tmp_path, capsys):
    script.main([str(folder), str(tmp_path / "one.npz")])
    assert "bare: no confirmed solution" in capsys.readouterr().out
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    script.main([str(folder), str(tmp_path / "two.npz")])
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_the_bundle_holds_what_the_folder_says(script, folder, tmp_path):
    script.main([str(folder), str(tmp_path / "out.npz")])
    with np.load(tmp_path / "out.npz", allow_pickle=False) as bundle:
        assert bundle["table"]["name"].tolist() == ["bare", "made2", "made10"]
        assert bundle["table"]["lower_bound"].tolist() == [4, 3, 4]
        assert "bare/solution" not in bundle
        for name in ("made2", "made10"):
            instance = Instance(name, bundle[f"{name}/A"], bundle[f"{name}/B"])
            assert instance.sha256() == read(folder / f"{name}.dat").sha256()
            assert instance.cost(bundle[f"{name}/solution"]) == 4


@pytest.mark.parametrize(
    "solution", [f"3 4 {P}", f"3 99\n{P}", "3 4 1 2 0", f"3 4 {INVERSE}", "3 4 2 0 1", "3,4\n2\n3,\n1"]
)
def test_every_convention_of_solution_files_is_confirmed(script, folder, solution):
    (folder / "made2.sln").write_text(solution)
    p, reason = script.confirm(read(folder / "made2.dat"), 4, folder / "made2.sln")
    assert p.tolist() == [1, 2, 0]
    assert not reason


@pytest.mark.parametrize("solution", ["3 4 1 2 3", "3 4 1 1 2", "3 4 1 2", "4 4 1 2 3", "3 4 a b c", "", "\u00e9"])
def test_a_solution_that_does_not_confirm_is_reported_and_left_out(script, folder, tmp_path, capsys, solution):
    (folder / "made2.sln").write_text(solution, encoding="utf-8")
    script.main([str(folder), str(tmp_path / "out.npz")])
    assert "made2: no confirmed solution" in capsys.readouterr().out
    with np.load(tmp_path / "out.npz", allow_pickle=False) as bundle:
        assert "made2/solution" not in bundle


@pytest.mark.parametrize(
    ("file", "old", "new", "found"),
    [
        ("best_known.csv", "made2,3,4,no,3", "made2,3,5,no,3", "made2: best known 5, but made2.sln costs 4"),
        (
            "best_known.csv",
            "made10,3,4,yes,4",
            "made10,3,7,yes,7",
            "made10: best known 7, but made10.sln costs 4",
        ),
        ("best_known.csv", "made2,3,4,no,3", "made2,3,4,no,5", "lower bound 5"),
        ("best_known.csv", "made2,3,4,no,3", "made2,3,4,yes,3", "lower bound 3"),
        ("best_known.csv", "made2,3,", "made2,4,", "n is 3"),
        ("best_known.csv", "made10,", "made2,", "twice"),
        ("best_known.csv", "made10,", "made11,", "made10"),
        ("best_known.csv", "bare,3,4,yes,4,yes", "bare,3,4,yes,4,yes\nnone,3,4,yes,4,yes", "none.dat"),
        ("made2.dat", "0 1 0", "0 x 0", "'x'"),
    ],
)
def test_a_folder_that_contradicts_itself_builds_nothing(script, folder, tmp_path, file, old, new, found):
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    with pytest.raises(SystemExit, match=re.escape(found)):
        script.main([str(folder), str(tmp_path / "out.npz")])
    assert not (tmp_path / "out.npz").exists()
