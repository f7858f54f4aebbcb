"""The documentation is true: its Python blocks run and print what the page shows, and its links lead somewhere.

A fenced `python` block is an example. The blocks of a page run in order, in one namespace and an empty folder. A block
marked `output` that follows is what they print; `...` in it stands for anything. Blocks that need PyTorch or JAX are
left out here; `tests/backends/` runs the pages that have them.
"""

import re
from contextlib import redirect_stdout
from dataclasses import dataclass
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from io import StringIO
from itertools import pairwise
from pathlib import Path
from traceback import extract_tb

import pytest

from trisplit.cli import commands

ROOT = Path(__file__).resolve().parents[2]
PAGES = {path.relative_to(ROOT).as_posix(): path for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])}
GUIDES = (
    "index",
    "quickstart",
    "bring-your-own-f",
    "losses",
    "how-good-is-my-answer",
    "when-a-run-fails",
    "steps",
    "terms",
    "own-term",
    "sklearn",
    "qap",
    "relax-and-round",
    "gpu",
    "matching",
)
WITH_EXAMPLES = ["README.md", "CONTRIBUTING.md", *(f"docs/{page}.md" for page in (*GUIDES, "mathematics"))]

FENCE = re.compile(r"^(?P<marks>`{3,}|~{3,})(?P<language>\S*)")
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
BACKENDS = re.compile(r"\b(?:torch|jax)\b|_(?:torch|jax)\b|\bjnp\b")
COMMAND = re.compile(r"^(?:\$ )?(?:trisplit|python3 run\.py) ([a-z]\S*)", re.MULTILINE)
REPOSITORY_PATH = re.compile(
    r"(?:docs|examples|src|tests|tools)/[\w./-]*|[\w-]+\.md|CITATION\.cff|pyproject\.toml|run\.py"
)


@dataclass(frozen=True)
class Block:
    """A fenced block: the word after the fence, the line of its first line, counted from 1, and what is inside."""

    language: str
    line: int
    text: str


def split(path):
    """Return the fenced blocks of a page, and its text without them."""
    blocks, prose, inside, opening = [], [], None, None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fence = FENCE.match(line.strip())
        if inside is None and fence:
            inside, opening = (fence["language"], number + 1, []), fence["marks"]
        elif inside is None:
            prose.append(line)
        elif line.strip() == opening:
            blocks.append(Block(inside[0], inside[1], "\n".join(inside[2]) + "\n"))
            inside = None
        else:
            inside[2].append(line)
    assert inside is None, f"{path}: a block is not closed"
    return blocks, "\n".join(prose)


def run(path, block, namespace):
    """Execute one example and return what it prints; an error names file and line."""
    printed = StringIO()
    try:
        with redirect_stdout(printed):
            exec(compile("\n" * (block.line - 1) + block.text, str(path), "exec"), namespace)
    except Exception as error:
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = lines[-1] if lines else getattr(error, "lineno", None) or block.line
        pytest.fail(f"{path}:{line}: {type(error).__name__}: {error}", pytrace=False)
    return printed.getvalue()


def needs_backends(block):
    return block.language == "python" and BACKENDS.search(block.text) is not None


def check_examples(page, leave_out=lambda block: False):
    """Run the examples of a page and compare what they print."""
    path = PAGES[page]
    blocks, _ = split(path)
    namespace = {"__name__": page}
    for block, following in pairwise([*blocks, Block("", 0, "")]):
        if block.language != "python" or leave_out(block):
            continue
        printed = run(path, block, namespace)
        if following.language == "output":
            same = OutputChecker().check_output(following.text, printed, ELLIPSIS | NORMALIZE_WHITESPACE)
            assert same, f"{path}:{following.line}: the page shows\n{following.text}but the example prints\n{printed}"
        elif page != "README.md":
            assert not printed, f"{path}:{block.line}: show in an `output` block what is printed:\n{printed}"


@pytest.mark.parametrize("page", PAGES)
def test_examples_run_and_print_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_examples(page, leave_out=needs_backends)


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_page_has_an_example(page):
    assert any(block.language == "python" for block in split(PAGES[page])[0]), page


def anchors(path):
    included = re.findall(r"^```\{include\} (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    if included:
        return set().union(*(anchors(path.parent / name) for name in included))
    headings = re.findall(r"^#+ (.*)$", split(path)[1], re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def made_from(target):
    """Return the script that the build makes a page of the gallery from; other pages are their own source."""
    if target.parent != ROOT / "docs" / "gallery":
        return target
    name = "GALLERY_HEADER.rst" if target.stem == "index" else f"{target.stem}.py"
    return ROOT / "examples" / "gallery" / name


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page):
    path = PAGES[page]
    for link in LINK.findall(CODE.sub("", split(path)[1])):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = made_from(path.parent / name) if name else path
        assert target.exists(), f"{path}: ({link}) leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{path}: {target.name} has no heading #{anchor}"


@pytest.mark.parametrize("page", PAGES)
def test_files_that_the_text_names_exist(page):
    path = PAGES[page]
    for name in filter(REPOSITORY_PATH.fullmatch, CODE.findall(split(path)[1])):
        built = name.startswith("docs/_build")
        assert built or (ROOT / name).exists() or (path.parent / name).exists(), f"{path}: `{name}` does not exist"


@pytest.mark.parametrize("page", PAGES)
def test_commands_exist(page):
    known = {*commands, "test", "backends", "docs"}
    for block in split(PAGES[page])[0]:
        for command in COMMAND.findall(block.text):
            assert command in known, f"{page}:{block.line}: there is no command {command!r}"
