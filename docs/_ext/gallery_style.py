"""The common look of the gallery's figures, and one core for everybody, so that times can be compared."""

from pathlib import Path

from threadpoolctl import threadpool_limits

STYLE = Path(__file__).resolve().parents[1] / "trisplit.mplstyle"


def look(gallery_conf: dict, path: str) -> None:
    """Give the next example the common style; sphinx-gallery calls this before each."""
    import matplotlib.pyplot as plt

    threadpool_limits(1)
    plt.close("all")
    plt.style.use(["default", str(STYLE)])
