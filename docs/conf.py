"""Settings of the documentation; build it with `python3 run.py docs`."""

import sys
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "trisplit"
version = release = installed_version("trisplit")
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    # from docs/_ext
    "benchmark_tables",
    "command_output",
    "convergence",
    "docstrings",
    "mathml",
    "paper_results",
    "terms_table",
]
exclude_patterns = ["_build", "sg_execution_times.rst", "gallery/sg_execution_times.rst"]
default_role = "code"
add_module_names = False
smartquotes_action = "D"  # dashes only: X' is a transpose

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_mock_imports = [] if find_spec("torch") else ["torch"]  # trisplit.torch needs it
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings name the types, in fewer words
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # keeps "a, b : int" together
napoleon_use_rtype = False


sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "image_srcset": ["2x"],
    "reset_modules": ("gallery_style.look", "seaborn"),
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "min_reported_time": 10**6,  # examples print what takes how long
}

html_theme = "furo"
html_title = f"trisplit {version}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
