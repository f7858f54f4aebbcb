"""`{command-output} trisplit ...`: run a command while the documentation is built, and show what it prints.

With `:blocks: k` the first k Python blocks of the page run before it, in the same folder, to write what it reads.
"""

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from trisplit.cli import run


class CommandOutput(SphinxDirective):
    """Show a command line after a prompt, and below it the standard output."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"blocks": directives.nonnegative_int}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Return the block; a command that fails stops the build."""
        program, *arguments = self.arguments[0].split()
        output, here = io.StringIO(), os.getcwd()
        with TemporaryDirectory() as folder, patch.dict(os.environ, {"COLUMNS": "100"}), redirect_stdout(output):
            os.chdir(folder)
            try:
                self._run_blocks(self.options.get("blocks", 0))
                status = run(arguments)
            finally:
                os.chdir(here)
        if program != "trisplit" or status != 0:
            raise self.error(f"{self.arguments[0]!r} exited with {status}")
        lines = [line.rstrip() for line in output.getvalue().splitlines()]
        text = "\n".join([f"$ {self.arguments[0]}", *lines])
        return [nodes.literal_block(text, text, language="console")]

    def _run_blocks(self, count: int) -> None:
        page, namespace = Path(self.env.doc2path(self.env.docname)), {}
        for code in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)[:count]:
            exec(code, namespace)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-output", CommandOutput)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
