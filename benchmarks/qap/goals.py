"""What was aimed at, next to what was measured."""

from typing import Any

from ..report import Table

SIGNS = {"at_most": "<=", "at_least": ">="}


def goal(what: str, measured: float, *, whole: bool, **aim: float) -> dict[str, Any]:
    """Return a goal, as JSON takes it: `aim` is `at_most` or `at_least` a number.

    The aims are for all instances of the paper; unless `whole`, they are left out and only the measured number stays.
    """
    ((kind, bound),) = aim.items()
    holds = measured <= bound if kind == "at_most" else measured >= bound
    return {"what": what, "measured": measured, **({kind: bound, "holds": holds} if whole else {})}


def table(goals: list[dict[str, Any]]) -> Table:
    """Return a line for each goal."""
    shown = Table("what was aimed at", ["", "measured", "goal", "holds"])
    for one in goals:
        kind = next((kind for kind in SIGNS if kind in one), None)
        aim = "" if kind is None else f"{SIGNS[kind]} {one[kind]:.3g}"
        holds = "" if kind is None else "yes" if one["holds"] else "no"
        shown.rows.append([one["what"], f"{one['measured']:.3g}", aim, holds])
    return shown
