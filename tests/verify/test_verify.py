"""`trisplit verify` accepts what is true, rejects what is not, and shares no code with the solver."""

import ast
import base64
import json
import random
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import trisplit
from trisplit import qap
from trisplit.cli import run
from trisplit.verify import UnreadableError, WrongError, proven_bound, verify

SOURCE = Path(trisplit.__file__).parent / "verify"
CLAIMS = ["instance", "n", "permutation", "index_base", "cost", "best_known", "gap"]
CLAIMS += ["lower_bound", "bound_gap", "bound_certificate", "data_sha256"]
DAMAGED = [(name, "gilmore-lawler") for name in ("nug12", "chr12a", "lipa20b", "esc16f", "tai10b", "bur26a")]
DAMAGED += [("had12", "projection"), ("nug12", "convex"), ("tai10a", "dnn"), ("five", "enumeration")]
FIVE = (
    "5  0 3 1 4 2  5 0 2 1 7  3 3 0 8 1  1 6 2 0 4  9 1 3 2 0   0 7 2 9 4  1 0 8 3 6  5 2 0 4 1  3 3 9 0 2  6 1 5 8 0"
)


def record_of(instance, permutation, bound=None, **changes):
    """Return what `trisplit solve --json` writes."""
    cost = instance.cost(permutation)
    record = {
        "instance": instance.name,
        "n": instance.n,
        "permutation": list(map(int, permutation)),
        "index_base": 0,
        "cost": cost,
        "best_known": instance.best_known,
        "gap": None if instance.best_known is None else (cost - instance.best_known) / max(abs(instance.best_known), 1),
        "lower_bound": None if bound is None else bound.value,
        "bound_gap": None if bound is None else (cost - bound.value) / max(abs(cost), 1),
        "bound_certificate": None if bound is None else bound.certificate,
        "data_sha256": instance.sha256(),
        "status": "FINISHED",
        "seconds": 0.25,
        "seed": 0,
        "starts": 10,
        "version": trisplit.__version__,
    }
    return record | changes


def genuine(name, method="gilmore-lawler", data=None):
    instance = qap.load(name) if data is None else qap.read(data)
    rng = random.Random(name)
    permutation = list(range(instance.n)) if instance.solution is None else instance.solution.tolist()
    if rng.random() < 0.5:
        permutation[0], permutation[3] = permutation[3], permutation[0]
    return record_of(instance, permutation, qap.lower_bound(instance, method=method))


def written(folder, record):
    path = folder / "out.json"
    path.write_text(record if isinstance(record, str) else json.dumps(record))
    return path


def test_nothing_comes_from_the_solver():
    """Every import is of the standard library, of NumPy or of the verifier itself."""
    for path in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                known = name.split(".")[0] in {*sys.stdlib_module_names, "numpy"}
                assert known or name.startswith("trisplit.verify."), f"{path} imports {name}"
            assert not getattr(node, "level", 0)
            assert getattr(node, "id", "") not in ("__import__", "exec", "eval", "import_module")


@pytest.mark.parametrize("name", qap.names())
def test_genuine_results_are_accepted(tmp_path, name):
    confirmed = verify(written(tmp_path, genuine(name)))
    assert confirmed.instance == name
    assert confirmed.lower_bound <= confirmed.best_known <= confirmed.cost or qap.load(name).solution is None


@pytest.mark.parametrize("name", ["nug12", "tai12b", "esc16f"])
def test_what_solve_writes_is_accepted(tmp_path, capsys, name):
    path = tmp_path / "out.json"
    assert run(["solve", name, "--starts", "1", "--json", str(path)]) == 0
    capsys.readouterr()
    assert run(["verify", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{name}: right, n = ")
    assert err == ""


@pytest.mark.parametrize("text", ["2 0 1 1 0  0, 3, 3, 0", "2 0 0.1 1e-3 0  0 3.3 3 7.7", "1 4 -5"])
def test_a_file_is_read_afresh(tmp_path, capsys, text):
    data, path = tmp_path / "pair.dat", tmp_path / "out.json"
    data.write_text(text)
    assert run(["solve", str(data), "--starts", "1", "--json", str(path)]) == 0
    instance = qap.read(data)
    record = json.loads(path.read_text())
    record = record_of(instance, record["permutation"], qap.lower_bound(instance))
    path = written(tmp_path, record)
    assert run(["verify", str(path), "--data", str(data)]) == 0
    capsys.readouterr()
    assert run(["verify", str(path)]) == 2
    assert "'pair' is not a bundled one; name its file, with --data FILE.dat" in capsys.readouterr().err
    data.write_text(text.replace("1", "2"))
    assert run(["verify", str(path), "--data", str(data)]) in (1, 2)


CHANGES = {
    "cost": ({"cost": 580}, "'cost' must be 578, it is 580"),
    "cost as a float": ({"cost": 578.0}, "'cost' must be 578, it is 578.0"),
    "n": ({"n": 11}, "'n' must be 12, it is 11"),
    "a short permutation": ({"permutation": [0, 1]}, "'permutation' must have 12 entries, it has 2"),
    "a repeated entry": ({"permutation": [0] * 12}, "'permutation' must hold every number 0 .. 11 once, 0 is"),
    "words": ({"permutation": list("abcdefghijkl")}, "'permutation' must be a list of integers"),
    "best known": ({"best_known": 577}, "'best_known' must be 578, it is 577"),
    "no best known": ({"best_known": None, "gap": None}, "'best_known' must be 578, it is None"),
    "gap": ({"gap": 1e-9}, "'gap' must be 0.0, it is 1e-09"),
    "no gap": ({"gap": None}, "'gap' must be null if and only if 'best_known' is"),
    "a bound above": ({"lower_bound": 578}, "'lower_bound' must be 494, it is 578"),
    "a bound below": ({"lower_bound": 492}, "'lower_bound' must be 494, it is 492"),
    "a bound without proof": ({"bound_certificate": None}, "must be given together"),
    "a damaged proof": ({"bound_certificate": {"method": "gilmore-lawler"}}, "'sha256 of bound_certificate' must be"),
    "bound gap": ({"bound_gap": 0.0}, "'bound_gap' must be 0.145"),
    "digest": ({"data_sha256": "0" * 64}, "'data_sha256' must be"),
    "index base": ({"index_base": 1}, "'index_base' must be 0, it is 1"),
    "another instance": ({"instance": "nug14"}, "'n' must be 14, it is 12"),
    "seconds": ({"seconds": -1}, "'seconds' must be a number >= 0, it is -1"),
    "seed": ({"seed": True}, "'seed' must be an integer >= 0 or null, it is True"),
    "version": ({"version": None}, "'version' must be a string, it is None"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_false_claim_is_named_in_one_line(tmp_path, capsys, change):
    nug12 = qap.load("nug12")
    changes, message = CHANGES[change]
    record = record_of(nug12, nug12.solution, qap.lower_bound(nug12, method="gilmore-lawler"))
    assert run(["verify", str(written(tmp_path, record))]) == 0
    capsys.readouterr()
    assert run(["verify", str(written(tmp_path, record | changes))]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


def test_an_optimum_needs_a_proof(tmp_path):
    lipa20b, nug12 = qap.load("lipa20b"), qap.load("nug12")
    assert verify(written(tmp_path, genuine("esc16f") | {"status": "OPTIMAL"})).optimal
    assert verify(written(tmp_path, record_of(nug12, nug12.solution, status="OPTIMAL"))).lower_bound is None
    with pytest.raises(WrongError, match="claims an optimum"):
        verify(written(tmp_path, record_of(nug12, range(12), status="OPTIMAL")))
    bound = qap.lower_bound(lipa20b, method="gilmore-lawler")
    assert verify(written(tmp_path, record_of(lipa20b, lipa20b.solution, bound, status="OPTIMAL"))).optimal


def test_a_missing_or_repeated_field_is_wrong(tmp_path):
    record = genuine("nug12")
    for label in record:
        with pytest.raises(WrongError, match=f"'{label}' is missing"):
            verify(written(tmp_path, {key: value for key, value in record.items() if key != label}))
    with pytest.raises(WrongError, match="'cost' is given twice"):
        verify(written(tmp_path, json.dumps(record)[:-1] + ', "cost": 1}'))
    with pytest.raises(WrongError, match="NaN is not a finite number"):
        verify(written(tmp_path, json.dumps(record | {"seconds": float("nan")})))


@pytest.mark.parametrize("text", ["", "{", "[]", "nug12", "[" * 100_000, '{"a": 1e'])
def test_what_cannot_be_read_is_no_result(tmp_path, capsys, text):
    assert run(["verify", str(written(tmp_path, text))]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_unreadable_files(tmp_path, capsys):
    assert run(["verify", str(tmp_path / "none.json")]) == 2
    assert run(["verify", str(tmp_path)]) == 2
    path = written(tmp_path, genuine("nug12"))
    for text in ("", "2 1 2 3", "1 x y", "0", "1 nan 3", "1 99999999999999999999 3", "1 1_0 2"):
        (tmp_path / "bad.dat").write_text(text)
        assert run(["verify", str(path), "--data", str(tmp_path / "bad.dat")]) == 2
    (tmp_path / "bad.dat").write_bytes(b"\xff\xfe")
    assert run(["verify", str(path), "--data", str(tmp_path / "bad.dat")]) == 2
    assert capsys.readouterr().out == ""


def spots(value, place=()):
    """Yield the places of all numbers, strings and nulls in a JSON value."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from spots(value[key], (*place, key))
    else:
        yield place


def damaged(record, rng):
    """Return the text of a record with one random change."""
    if rng.random() < 0.4:
        text = json.dumps(record)
        k = rng.randrange(len(text))
        return text[:k] + rng.choice(["", *'0123456789-.e,:{}[]" xnt']) + text[k + rng.randrange(2) :]
    record = json.loads(json.dumps(record))
    label = rng.choice(CLAIMS)
    *way, last = rng.choice(list(spots(record[label], (label,))))
    target = record
    for key in way:
        target = target[key]
    old = target[last]
    if isinstance(old, str):
        new = rng.choice([old[1:], old + "a", old.upper(), "nug14", None])
    elif old is None:
        new = rng.choice([0, 1, "", []])
    else:
        new = rng.choice([old + 1, old - 1, -old, 2 * old, old + rng.randrange(-1000, 1000), None, str(old), [old]])
    target[last] = new
    if isinstance(target, list) and len(target) > 1 and rng.random() < 0.3:
        target[last] = old
        other = rng.randrange(len(target))
        target[last], target[other] = target[other], target[last]
    return json.dumps(record)


def still_true(text, record, data=None):
    """Return whether the claims are the same, up to another permutation of the same cost and what `data` is called."""
    try:
        other = json.loads(text)
        rest = [label for label in CLAIMS if label != "permutation" and (data is None or label != "instance")]
        if not isinstance(other, dict) or any(other[label] != record[label] for label in rest):
            return False
        instance = qap.load(record["instance"]) if data is None else qap.read(data)
        return isinstance(other["instance"], str) and instance.cost(other["permutation"]) == record["cost"]
    except (ValueError, KeyError):
        return False


def reject_all(folder, count, seed):
    rng = random.Random(seed)
    own = folder / "five.dat"
    own.write_text(FIVE)
    files = [own if name == "five" else None for name, _ in DAMAGED]
    records = [(genuine(*kind, data), data) for kind, data in zip(DAMAGED, files, strict=True)]
    changed = 0
    while changed < count:
        record, data = rng.choice(records)
        text = damaged(record, rng)
        if still_true(text, record, data):
            continue
        changed += 1
        try:
            verify(written(folder, text), data)
        except (WrongError, UnreadableError):
            continue
        pytest.fail(f"accepted: {text}")


@pytest.mark.parametrize("method", ["gilmore-lawler", "projection", "convex", "dnn"])
def test_no_certificate_proves_what_is_false(method):
    """Whoever tampers with a certificate gets an error or another bound, never one above the optimum."""
    nug12, rng = qap.load("nug12"), random.Random(method)
    certificate = qap.lower_bound(nug12, method=method).certificate
    labels = [label for label in certificate if label not in ("method", "sha256")]
    for _ in range(150):
        forged = json.loads(json.dumps(certificate))
        target, last = forged, rng.choice(labels)
        while isinstance(target[last], list):
            target, last = target[last], rng.randrange(len(target[last]))
        if isinstance(target[last], str):
            target[last] = forged_text(target[last], rng)
        else:
            target[last] += rng.choice(
                [-1, 1, rng.randrange(-(10**6), 10**6), rng.randrange(-(10**14), 10**14), 10**400]
            )
        try:
            assert proven_bound(nug12.A, nug12.B, None, forged) <= nug12.best_known
        except WrongError:
            continue


@pytest.mark.parametrize("unit", [1, 10**12, 0.1])
def test_the_optimum_of_a_small_problem_is_computed_again(tmp_path, unit):
    """So nothing but the optimum is accepted as the bound that enumeration gives."""
    n, *numbers = (int(word) for word in FIVE.split())
    data = tmp_path / "five.dat"
    data.write_text(" ".join([str(n), *(str(unit * number) for number in numbers)]))
    instance = qap.read(data)
    record = record_of(instance, range(5), qap.lower_bound(instance))
    confirmed = verify(written(tmp_path, record), data)
    assert (confirmed.method, confirmed.lower_bound) == ("enumeration", record["lower_bound"])
    for value in (record["lower_bound"] - unit, record["lower_bound"] + unit, record["cost"]):
        gap = (record["cost"] - value) / record["cost"]
        with pytest.raises(WrongError, match="'lower_bound' must be"):
            verify(written(tmp_path, record | {"lower_bound": value, "bound_gap": gap}), data)


def test_large_problems_are_not_enumerated():
    tai10a = qap.load("tai10a")
    with pytest.raises(WrongError, match="the certificate is for up to 8 rows, there are 10"):
        proven_bound(tai10a.A, tai10a.B, None, {"method": "enumeration"})


def forged_text(text, rng):
    if len(text) < 20:
        return rng.choice(["rows", "columns", "symmetric", "", None, 3])
    S = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<i4").copy()
    S[rng.randrange(len(S))] += rng.choice([-1, 1, 10**5, -(10**7)])
    damaged = base64.b64encode(zlib.compress(S.tobytes())).decode()
    return rng.choice([damaged, damaged, damaged, text[:-8], "A" + text, text.replace("A", "é"), None])


def test_damaged_files_are_rejected(tmp_path):
    reject_all(tmp_path, 400, 0)


@pytest.mark.slow
def test_ten_thousand_damaged_files_are_rejected(tmp_path):
    reject_all(tmp_path, 10_000, 1)
