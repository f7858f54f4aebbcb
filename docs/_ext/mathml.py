"""Formulas as MathML, which browsers show by themselves: no script and no other site is needed."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def show_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def show_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a displayed formula."""
    formula = tex2mathml(node.astext()).replace("<math ", '<math display="block" ', 1)
    translator.body.append(f'<div class="math">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer under the name "mathml"."""
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
