"""Formulas as MathML, which browsers show by themselves: no script and no other site is needed."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


def convert(node: nodes.Element) -> str:
    """Return the MathML of a formula; one that docutils cannot read is a warning that names the page."""
    try:
        return tex2mathml(node.astext())
    except ValueError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return ""


def show_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(convert(node))
    raise nodes.SkipNode


def show_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a displayed formula."""
    formula = convert(node).replace("<math ", '<math display="block" ', 1)
    translator.body.append(f'<div class="math">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer under the name "mathml"."""
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
