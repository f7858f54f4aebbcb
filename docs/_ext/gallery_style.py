"""The common look of the gallery's figures."""

from pathlib import Path

STYLE = Path(__file__).resolve().parents[1] / "trisplit.mplstyle"


def look(gallery_conf: dict, path: str) -> None:
    """Give the next example the common style; sphinx-gallery calls this before each."""
    import matplotlib.pyplot as plt

    plt.close("all")
    plt.style.use(["default", str(STYLE)])
