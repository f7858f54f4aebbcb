"""What `trisplit bench gpu` shows: a table for each part, the goals last, and a figure."""

from statistics import fmean
from typing import TYPE_CHECKING, Any

from trisplit.paper.instances import best_known
from trisplit.paper.style import COLOURS, STYLE

from ..qap.gaps import percent
from ..qap.goals import table as goals_table
from ..report import Table, duration
from .checks import ALLOWED
from .goals import differences, enough, floors, of_part, ours
from .searches import GOALS
from .starts import PRECISIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAME = 1e-2  # relative difference from float64 after a few iterations, up to which a loop does what it should
LIBRARIES = {"compile": "torch.compile", "torch": "torch", "jax": "JAX", "cupy": "CuPy"}
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20, 50, 100)
LOOKS = {"ours": COLOURS[0], "torch.compile": COLOURS[1], "JAX": COLOURS[2], "CuPy": COLOURS[5], "torch": COLOURS[7]}


def tables(record: dict[str, Any]) -> list[Table]:
    """Return a table for each part that there is, what has failed, and the goals."""
    makers = (checks, iterations, large, starts, precision, quality, reach, paper, failed)
    shown = [table for table in (make(record) for make in makers) if table.rows]
    return [*shown, *([goals_table(record["goals"])] if record.get("goals") else [])]


def checks(record: dict[str, Any]) -> Table:
    """Return a line for each comparison of a kernel with its plain twin."""
    table = Table(
        f"kernels against their plain twins on {record['device']['name']}: the largest difference of y, "
        f"whose entries are of order 1, after {record['settings']['checks']['iterations']} iterations",
        ["", *ALLOWED, "exactly the same"],
    )
    for case, one in of_part(record, "checks").items():
        numbers = [f"{one[kind]:.1e}" if kind in one else "" for kind in ALLOWED]
        table.rows.append([case, *numbers, {True: "yes", False: "no"}.get(one.get("same"), "")])
    return table


def peers(record: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return what each library has measured at each size."""
    found = of_part(record, "iterations")
    return {name: found[key]["sizes"] for key, name in LIBRARIES.items() if key in found}


def iterations(record: dict[str, Any]) -> Table:
    """Return a line for each size."""
    found = of_part(record, "iterations")
    mine, least, theirs = ours(found), floors(found), peers(record)
    table = Table(
        f"milliseconds an iteration, n x starts, TF32, on {record['device']['name']}; "
        "the floor: two products and a pass over memory; other libraries: the plain loop",
        ["n x starts", "ours", "floor", "ours / floor", *theirs],
    )
    for size in record["settings"]["iterations"]["sizes"]:
        if size not in mine and size not in least:
            continue
        own, floor = mine.get(size), least.get(size)
        line = [size, number(own), number(floor), number(own and floor and own / floor)]
        table.rows.append([*line, *(cell(sizes.get(size, {})) for sizes in theirs.values())])
    return table


def number(value: float | None) -> str:
    """Return a number, or nothing."""
    return "" if value is None else f"{value:.3g}"


def cell(one: dict[str, Any]) -> str:
    """Return milliseconds, or why there are none."""
    if "milliseconds" in one:
        return number(one["milliseconds"])
    return next((word for word in ("missing", "failed") if word in one), "")


def large(record: dict[str, Any]) -> Table:
    """Return a line for each large problem."""
    table = Table(
        "one large problem: milliseconds an iteration and of its two products in TF32, peak memory in GiB",
        ["matrices", "n", "an iteration", "products", "ratio", "memory", "set up"],
    )
    for case, one in of_part(record, "large").items():
        products = one.get("products")
        ratio = None if products is None else one["milliseconds"] / products
        numbers = (one["milliseconds"], products, ratio, one["peak_gib"])
        table.rows.append([case, f"{one['n']:,}", *map(number, numbers), duration(one["setup_seconds"])])
    return table


def starts(record: dict[str, Any]) -> Table:
    """Return a line for each instance and number of iterations."""
    found = of_part(record, "starts")
    cores = next((one["faq"]["cores"] for one in found.values() if "faq" in one), 1)
    table = Table(
        "starts a second, drawn and rounded, and their mean error in percent, without polish; SciPy's FAQ from random "
        f"points on 1 core and on {cores}; goals are for {enough(found)} iterations: the fewest whose error, in the "
        "mean of the instances, is not above FAQ's, or else the most",
        ["instance", "starts", "iterations", "a second", "error", "FAQ, 1 core", f"{cores} cores", "error", "times 1",
         f"times {cores}"],
    )  # fmt: skip
    for name, one in found.items():
        faq = one.get("faq")
        for length, own in one["ours"].items():
            line = [name, f"{one['starts']:,}", length, f"{own['per_second']:,.0f}", percent(own["error"])]
            theirs = ["", "", "", "", ""]
            if faq is not None:
                speeds = faq["one"], faq["all"]
                theirs = [*(f"{speed:,.1f}" for speed in speeds), percent(faq["error"])]
                theirs += [f"{own['per_second'] / speed:,.0f}" for speed in speeds]
            table.rows.append([*line, *theirs])
    return table


def precision(record: dict[str, Any]) -> Table:
    """Return a line for each precision."""
    found, how = of_part(record, "precision"), record["settings"]["precision"]
    table = Table(
        f"precisions on {len(found)} instances: mean gap to the best-known cost in percent, and how far above "
        f"float64's, for the best of {how['starts']} starts of a seed, and of all {how['seeds']} seeds",
        ["precision", "a seed", "all seeds", "above, a seed", "above, all seeds"],
    )
    if found:
        for name in PRECISIONS:
            means = [fmean((cost - best_known()[each]) / max(best_known()[each], 1) for each, one in found.items()
                           for cost in costs(one[name])) for costs in (list, lambda row: [min(row)])]  # fmt: skip
            best, mean = differences(found, name)
            table.rows.append([name, *map(percent, means), f"{mean:+.4f}", f"{best:+.4f}"])
    return table


def quality(record: dict[str, Any]) -> Table:
    """Return a line for each of the large instances."""
    found, limit = of_part(record, "quality"), record["settings"]["quality"]["limit"]
    seeds = sorted({case.split()[1] for case in found}, key=int)
    table = Table(
        f"gap to the best-known cost in percent after {limit:g} s, by seed; and the most seconds of a call",
        ["instance", *seeds, "goal", "seconds"],
    )
    for name in dict.fromkeys(case.split()[0] for case in found):
        own = {seed: found[f"{name} {seed}"] for seed in seeds if f"{name} {seed}" in found}
        gaps = [percent(own[seed]["gap"]) if seed in own else "" for seed in seeds]
        slowest = max(one["seconds"] for one in own.values())
        table.rows.append([name, *gaps, f"{GOALS[name]:g}" if name in GOALS else "", f"{slowest:.2f}"])
    return table


def reach(record: dict[str, Any]) -> Table:
    """Return the seconds of each instance on both devices, and their means."""
    found, limit = of_part(record, "reach"), record["settings"]["reach"]["limit"]
    table = Table(
        f"seconds until the best-known cost; {limit:g} where it was not reached",
        ["instance", "GPU", "CPU", "CPU / GPU"],
    )
    times = {name: [one[device]["counted"] for device in ("gpu", "cpu")] for name, one in found.items()}
    if times:
        times["mean"] = [fmean(column) for column in zip(*times.values(), strict=True)]
    for name, (gpu, cpu) in times.items():
        words = [duration(seconds) if seconds < limit else "not reached" for seconds in (gpu, cpu)]
        table.rows.append([name, *words, number(cpu / gpu)])
    return table


def paper(record: dict[str, Any]) -> Table:
    """Return how many instances of the paper are at the best-known cost, and those that are not."""
    found, limit = of_part(record, "paper"), record["settings"]["paper"]["limit"]
    table = Table(f"instances of the paper, {limit:g} s each", ["", "number", "mean gap in percent"])
    if found:
        gaps = {name: one["gap"] for name, one in found.items()}
        above = {name: gap for name, gap in gaps.items() if gap > 0}
        table.rows.append(["at the best-known cost", f"{len(gaps) - len(above)}", ""])
        table.rows.append(["all that were searched", f"{len(gaps)}", percent(fmean(gaps.values()))])
        table.rows += [[f"above it: {name}", "", percent(gap)] for name, gap in above.items()]
    return table


def failed(record: dict[str, Any]) -> Table:
    """Return what has failed, and which library at which size."""
    table = Table("what has failed or is missing", ["case", "what it said"])
    for part, case, _, _, found in record["rows"]:
        if "failed" in found:
            table.rows.append([f"{part}, {case}", found["failed"]])
        for size, one in found.get("sizes", {}).items():
            table.rows += [[f"{case}, {size}", one[word]] for word in ("missing", "failed") if word in one]
            if one.get("difference", 0.0) > SAME:
                table.rows.append([f"{case}, {size}", f"differs from float64 by {one['difference']:.2g}"])
    return table


def figure(record: dict[str, Any]) -> "Figure":
    """Draw iteration times as multiples of the floor, and the gaps of the four large instances."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):  # pyright: ignore[reportArgumentType]
        drawing = Figure(figsize=(9.0, 3.4), layout="constrained")
        left, right = drawing.subplots(1, 2, width_ratios=(3, 2))
        draw_iterations(left, record)
        draw_gaps(right, record)
    return drawing


def draw_iterations(panel: "Axes", record: dict[str, Any]) -> None:
    """Draw a group of bars for each size."""
    found = of_part(record, "iterations")
    floor = floors(found)
    sizes = [size for size in record["settings"]["iterations"]["sizes"] if size in floor]
    times = {"ours": ours(found)}
    for name, of_sizes in peers(record).items():
        times[name] = {size: one["milliseconds"] for size, one in of_sizes.items() if "milliseconds" in one}
    drawn, lowest, highest = [name for name in LOOKS if times.get(name)], 1.0, 2.0
    for k, name in enumerate(drawn):
        there = [j for j, size in enumerate(sizes) if size in times[name]]
        places = [j + 0.8 * ((k + 0.5) / len(drawn) - 0.5) for j in there]
        heights = [times[name][sizes[j]] / floor[sizes[j]] for j in there]
        lowest, highest = min(lowest, *heights, 1.0), max(highest, *heights, 1.0)
        # Up or down from the floor
        panel.bar(places, [height - 1 for height in heights], 0.75 / len(drawn), 1.0, color=LOOKS[name], label=name)
    panel.axhline(1.0, color="black", linewidth=1.0)
    panel.set_yscale("log")
    panel.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    panel.set_ylim(0.8 * lowest, 1.1 * highest)
    panel.minorticks_off()
    panel.set_xticks(range(len(sizes)), [f"{size}\n{floor[size]:.2g} ms" for size in sizes])
    panel.set(ylabel="time of an iteration / floor", xlabel="n x starts, and the floor")
    panel.grid(visible=False, axis="x")
    if drawn:
        panel.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(drawn), columnspacing=1.0, handlelength=1.2)


def draw_gaps(panel: "Axes", record: dict[str, Any]) -> None:
    """Draw the gap of each seed, and the goal."""
    found = of_part(record, "quality")
    names = list(dict.fromkeys(case.split()[0] for case in found))
    for case, one in found.items():
        panel.plot(names.index(case.split()[0]), 100 * one["gap"], "o", color=COLOURS[0], markersize=5, clip_on=False)
    for k, name in enumerate(names):
        if name in GOALS:
            panel.hlines(GOALS[name], k - 0.3, k + 0.3, color=COLOURS[1])
    panel.set_xticks(range(len(names)), names)
    panel.set_xlim(-0.5, max(len(names), 1) - 0.5)
    panel.set_ylim(0, None)
    panel.set_ylabel(f"gap after {record['settings']['quality']['limit']:g} s, percent (lines: goals)")
    panel.grid(visible=False, axis="x")
