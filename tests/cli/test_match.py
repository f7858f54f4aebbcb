"""`trisplit match`: what it prints, what it writes, and how it ends."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import trisplit
from tests.matching.results import a_pair, a_result
from trisplit.cli import run
from trisplit.cli.match_output import digest, edges
from trisplit.matching import api
from trisplit.matching.graphs import Graph, as_graph

N = 24
EDGES_A = "Ada,Bob\nBob,Cy\nCy,Dan\nCy,Ada\n"
EDGES_B = "u,v\nv,w\nw,x\nw,u\n"
KEYS = {
    "A": str,
    "B": str,
    "n_A": int,
    "n_B": int,
    "edges_A": int,
    "edges_B": int,
    "layers": int,
    "index_base": int,
    "permutation": list,
    "indices_A": list,
    "indices_B": list,
    "labels_A": list | None,
    "labels_B": list | None,
    "unmatched_A": list,
    "unmatched_B": list,
    "score": float,
    "bound": float | None,
    "alignment_strength": float | None,
    "confidence": list,
    "runners_up": list,
    "agreement": list,
    "stability": list | None,
    "certificate": dict | None,
    "maximize": bool,
    "seeds": int,
    "method": str,
    "message": str,
    "misc": list,
    "seconds": float,
    "data_sha256_A": str,
    "data_sha256_B": str,
    "seed": int,
    "starts": int,
    "version": str,
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Stand in a folder with two graphs in several formats."""
    monkeypatch.chdir(tmp_path)
    A, B, p = a_pair(N, 0.2)
    np.savez("dense.npz", A)
    sparse.save_npz("A.npz", sparse.csr_array(A))
    sparse.save_npz("B.npz", sparse.csr_array(B))
    (tmp_path / "people.csv").write_text(EDGES_A)
    (tmp_path / "letters.csv").write_text(EDGES_B)
    return A, B, p


@pytest.fixture
def found(files, monkeypatch):
    """Let the true match be found without a search; return what was asked for."""
    asked = {}

    def answer(A, B, **options):
        assert callable(options.pop("verbose"))
        asked.update(options)
        A, B = as_graph(A, "A"), as_graph(B, "B")
        p = files[2] if A.n == N else np.arange(A.n)
        stability = None if options.get("n_init", 1) == 1 else np.ones(A.n)
        result = a_result([one.toarray() for one in A.layers], [one.toarray() for one in B.layers], p)
        names = {"labels_A": A.labels and np.array(A.labels), "labels_B": B.labels and np.array(B.labels)}
        known = options.get("partial_match")
        return replace(result, stability=stability, seeds=0 if known is None else len(known), **names)

    monkeypatch.setattr(api, "graph_match", answer)
    return asked


def search_path():
    """Return where a child finds the modules of this process, and the tests."""
    return os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])


def rows(out):
    names = "vertices|edges|matched|score|alignment strength|agreement|confidence|stability|time|status"
    return dict(re.findall(rf"^\W*({names})\b\W+(.*?)\W*$", out, re.MULTILINE))


def test_it_prints_the_match_as_a_whole_and_the_least_sure(found, files, capsys):
    A, B, p = files
    assert run(["match", "A.npz", "B.npz"]) == 0
    out, err = capsys.readouterr()
    said = rows(out)
    assert err == ""
    assert "A.npz and B.npz" in out
    assert said["vertices"] == f"{N} and {N}"
    assert said["edges"] == f"{int(A.sum()) // 2} and {int(B.sum()) // 2}"
    assert said["matched"] == str(N)
    assert float(said["score"]) == (A * B[np.ix_(p, p)]).sum()
    assert 0 < float(said["alignment strength"].split()[0]) < 1
    assert "standard deviations above random matches" in said["alignment strength"]
    assert re.match(r"0\.\d+ on average, 0\.\d+ at least", said["agreement"])
    least = re.search(rf"\W{N - 1}\W+{p[-1]}\W+0\.250\W+([\d.]+|–)\W+{(p[-1] + 1) % N}\b", out)
    assert least is not None
    pairs = dict(re.findall(r"(\d+)=(\d+)", out.replace("\n", "")))
    assert [int(pairs[str(i)]) for i in range(N)] == p.tolist()
    assert found == {"partial_match": None, "padding": "naive", "maximize": True, "rng": 0}


def test_the_options_reach_the_search(found, capsys):
    options = "--starts 3 --seed 5 --workers 2 --padding adopted --minimize --method faq"
    with open("seeds.txt", "w") as file:
        file.write("0 3\n1 4\n")
    assert run(["match", "A.npz", "B.npz", "--seeds", "seeds.txt", *options.split()]) == 0
    assert found.pop("partial_match").tolist() == [[0, 3], [1, 4]]
    assert found == {"padding": "adopted", "maximize": False, "rng": 5, "n_init": 3, "n_jobs": 2, "method": "faq"}
    said = rows(capsys.readouterr().out)
    assert said["matched"] == f"{N}, 2 of them given"
    assert said["stability"].startswith("1.000 on average")
    assert "3 starts" in said["time"]


def test_json_holds_the_match_and_what_it_was_made_from(found, files, capsys):
    A, B, p = files
    assert run(["match", "A.npz", "B.npz", "--json", "out.json", "--seed", "7"]) == 0
    with open("out.json") as file:
        record = json.load(file)
    assert set(record) == set(KEYS)
    for name, kind in KEYS.items():
        assert isinstance(record[name], kind), name
    assert record["permutation"] == p.tolist()
    assert (record["index_base"], record["seed"], record["version"]) == (0, 7, trisplit.__version__)
    assert record["data_sha256_A"] == digest(Graph((A,)))
    assert "=" not in capsys.readouterr().out


def test_labels_come_back_with_the_match(found, capsys):
    assert run(["match", "people.csv", "letters.csv", "--json", "out.json", "--csv", "out.csv"]) == 0
    with open("out.json") as file:
        record = json.load(file)
    assert record["labels_A"] == ["Ada", "Bob", "Cy", "Dan"]
    assert record["labels_B"] == list("uvwx")
    with open("out.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert [(row["A"], row["B"]) for row in table] == list(zip(["Ada", "Bob", "Cy", "Dan"], "uvwx", strict=True))
    assert [row["runner_up"] for row in table] == ["v", "w", "x", "u"]
    assert [float(row["agreement"]) for row in table] == [1, 1, 1, 1]
    assert rows(capsys.readouterr().out)["alignment strength"].startswith("1.0000")
    assert run(["match", "people.csv", "letters.csv"]) == 0
    assert "Ada=u, Bob=v, Cy=w, Dan=x" in capsys.readouterr().out


def test_a_runner_up_may_be_called_by_a_dash(found):
    Path("letters.csv").write_text(EDGES_B.replace("v", "–"), encoding="utf-8")
    assert run(["match", "people.csv", "letters.csv", "--csv", "out.csv"]) == 0
    with open("out.csv", newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert {row["runner_up"] for row in table} == {row["B"] for row in table} == set("uwx–")


def test_the_table_names_vertices_without_a_partner(found, files, monkeypatch):
    A, B, _ = files
    p = np.arange(N)
    p[[2, 3]] = -1
    monkeypatch.setattr(api, "graph_match", lambda *_, **options: a_result(A, B, p))
    assert run(["match", "A.npz", "B.npz", "--csv", "out.csv"]) == 0
    with open("out.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["A"] for row in table if not row["B"]] == ["2", "3"]
    assert [row["B"] for row in table if not row["A"]] == ["2", "3"]
    assert len(table) == N + 2


def test_the_page_shows_the_match(found, capsys):
    assert run(["match", "A.npz", "B.npz", "--starts", "2", "--report", "page.html"]) == 0
    with open("page.html", encoding="utf-8") as file:
        text = file.read()
    payloads = [
        json.loads(one) for one in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.S)
    ]
    charts = {one["title"]: one for one in payloads if "series" in one}
    for name in ("Confidence", "Agreement", "Stability"):
        counts = charts[f"{name} of the matches"]["series"][0]["y"]
        assert sum(counts) == N
    (frames,) = [one for one in payloads if "captions" in one]
    assert frames["rows"] == N
    assert frames["captions"][:2] == ["A", "B, as matched"]
    assert "Least sure" in text
    assert "<img" in text


@pytest.mark.parametrize("p", [[], [-1, -1, -1], [0, -1, 1]])
def test_the_smallest_matches_have_a_page(found, monkeypatch, p):
    M = np.ones((len(p), len(p)))
    np.savez("small.npz", M)
    monkeypatch.setattr(api, "graph_match", lambda *_, **options: a_result(M, M, p))
    assert run(["match", "small.npz", "small.npz", "--report", "page.html", "--json", "o.json", "--csv", "o.csv"]) == 0
    assert os.path.getsize("page.html") > 1000


def test_without_matplotlib_the_page_has_the_matrices_all_the_same(found, monkeypatch):
    monkeypatch.setattr("trisplit.cli.match_report.find_spec", lambda name: None)
    assert run(["match", "A.npz", "B.npz", "--report", "page.html"]) == 0
    with open("page.html", encoding="utf-8") as file:
        text = file.read()
    assert "<img" not in text
    assert "B, as matched" in text


def test_the_search_itself_finds_the_match_and_the_seed_decides(files, capsys):
    A, B, p = files
    answers = []
    for options in (["--seed", "3"], ["--seed", "3", "--workers", "2"]):
        assert run(["match", "A.npz", "B.npz", "--starts", "3", "--json", "out.json", *options]) == 0
        with open("out.json") as file:
            answers.append(json.load(file))
    assert answers[0]["permutation"] == answers[1]["permutation"]
    assert answers[0]["score"] >= (A * B[np.ix_(p, p)]).sum()
    assert len(answers[0]["misc"]) == 3
    assert len(answers[0]["stability"]) == N


STREAMED = """
import sys
from trisplit.cli import main
print("before")
main(["match", "people.csv", "letters.csv", *sys.argv[1:]])
"""


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="streams have no paths")
@pytest.mark.parametrize(
    ("path", "mode"),
    [("/dev/stdout", "a"), ("/dev/stdout", "w"), ("/dev/fd/1", "a"), ("/proc/self/fd/1", "a"), ("/dev/stderr", "a")],
)
def test_a_stream_that_leads_to_a_file_is_written_behind_what_it_has(files, path, mode):
    if not os.path.exists(path):
        pytest.skip(f"{path} is not known here")
    with open("log.txt", mode) as log:
        log.write("earlier\n")
        log.flush()
        streams = {"stdout": log, "stderr": log}
        command = [sys.executable, "-c", STREAMED, "--json", path]
        subprocess.run(command, env=os.environ | {"PYTHONPATH": search_path()}, check=True, **streams)
    with open("log.txt", encoding="utf-8") as log:
        lines = list(map(str.strip, log))
    assert lines[0] == "earlier"
    (record,) = [line for line in lines if line.startswith("{")]
    assert sorted(json.loads(record)["labels_B"]) == list("uvwx")
    if path != "/dev/stderr":  # what is printed keeps its order
        assert lines.index("before") < lines.index(record) < lines.index("people.csv and letters.csv")
    assert sorted(os.listdir()) == ["A.npz", "B.npz", "dense.npz", "letters.csv", "log.txt", "people.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="streams have no paths")
def test_a_stream_that_cannot_be_written_is_refused_before_the_search(found, capsys):
    with open("people.csv") as file:
        for number, option in ((file.fileno(), "--json"), (987654, "--csv")):
            assert run(["match", "A.npz", "B.npz", option, f"/dev/fd/{number}"]) == 2
            words = f"{option} /dev/fd/{number} is not open for writing; choose another path"
            assert capsys.readouterr().err == f"trisplit: {words}\n"
    assert run(["match", "A.npz", "B.npz", "--report", "/dev/stdout"]) == 2
    assert "--report /dev/stdout is no file" in capsys.readouterr().err
    assert found == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.npz", "B.npz"], "none.npz"),
        (["A.npz", "B.npz", "--seeds", "none.txt"], "none.txt"),
        (["A.npz", "B.npz", "--json", "no/out.json"], "--json no/out.json lies in a folder that does not exist"),
        (["A.npz", "B.npz", "--csv", "out", "--json", "out"], "--json and --csv are the same file"),
        (["A.npz", "B.npz", "--json", "A.npz"], "--json A.npz is read by this command"),
        (["A.npz", "B.npz", "--starts", "0"], "--starts"),
        (["A.npz"], "B"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(found, arguments, words, capsys):
    before = sorted(os.listdir())
    assert run(["match", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert words in err
    assert sorted(os.listdir()) == before


def test_an_error_of_the_search_is_one_line_and_nothing_is_written(found, monkeypatch, capsys):
    def refuse(*_, **options):
        raise trisplit.InputError("`padding` must be one of naive, adopted, got 'none'")

    monkeypatch.setattr(api, "graph_match", refuse)
    assert run(["match", "A.npz", "B.npz", "--padding", "none", "--json", "out.json"]) == 2
    assert capsys.readouterr().err == "trisplit: `padding` must be one of naive, adopted, got 'none'\n"
    assert not os.path.exists("out.json")


def test_a_large_search_says_first_what_it_takes(found, monkeypatch, capsys):
    def search(A, B, verbose, **options):
        for line in ("24 vertices: up to 3 KiB", "start 1", "start 2"):
            verbose(line)
        return a_result(A.layers[0].toarray(), B.layers[0].toarray(), np.arange(N))

    monkeypatch.setattr(api, "graph_match", search)
    assert run(["match", "A.npz", "B.npz"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(import_module("trisplit.cli.match"), "LONG", N)
    assert run(["match", "A.npz", "B.npz"]) == 0
    assert capsys.readouterr().err == "trisplit: 24 vertices: up to 3 KiB\n"


def test_edges_and_digests_do_not_depend_on_how_a_graph_is_stored():
    rng = np.random.default_rng(0)
    M = (rng.random((9, 9)) < 0.3) * rng.random((9, 9))
    for one in (M, M + M.T):
        stored = [Graph((one,)), Graph((sparse.csr_array(one),)), Graph((sparse.csr_array(np.asfortranarray(one)),))]
        assert len(set(map(digest, stored))) == 1
        assert len(set(map(edges, stored))) == 1
    assert digest(Graph((M,))) != digest(Graph((M.T,))) != digest(Graph((M, M)))
    assert edges(Graph((M + M.T,))) == np.count_nonzero(np.triu(M + M.T))


INTERRUPTED = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from trisplit.matching import api
from tests.matching.results import a_pair, a_result
def search(A, B, **options):
    try:
        print("searching", file=sys.stderr, flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        if BEST:
            A, B, p = a_pair(24, 0.2)
            return a_result(A, B, p, message="interrupted; this is the best match by then")
        raise
api.graph_match = search
from trisplit.cli import main
main(["match", "A.npz", "B.npz", "--json", "out.json"])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("best", [True, False])
def test_ctrl_c_prints_the_best_match_so_far(files, tmp_path, best):
    command = [sys.executable, "-c", INTERRUPTED.replace("BEST", str(best))]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path}
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": search_path()}, **pipes) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == "searching\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert os.path.exists("out.json") == best
    if best:
        assert err == ""
        assert "interrupted" in rows(out)["status"]
    else:
        assert (out, err) == ("", "trisplit: interrupted before there was an answer\n")
