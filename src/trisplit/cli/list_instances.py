"""trisplit list: the bundled instances."""

from trisplit import qap


def list_instances() -> None:
    """List the bundled QAPLIB instances with sizes and best-known values."""
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "n", "best known", "proven optimal", "lower bound", box=None)
    for column in (1, 2, 4):
        table.columns[column].justify = "right"
    for entry in qap.table():
        bound = "" if entry.lower_bound is None else f"{entry.lower_bound:,}"
        table.add_row(entry.name, str(entry.n), f"{entry.best_known:,}", "yes" if entry.proven else "no", bound)
    Console(highlight=False, soft_wrap=True).print(table)
