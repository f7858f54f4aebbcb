/* Reading a chart: which point a pointer or a key leads to, and what is said about it. */

const NEAR = 80; // pixels from the pointer to a point
const STEPS = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

/* The mark nearest to the pointer; for bars, which may be small, the nearest column. */
function markAt(chart, event) {
  const panel = chart.panels.find(({ box }) => box.contains(event.target));
  if (!panel) return null;
  const box = panel.picture.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const bars = chart.data.kind === "bars";
  let [best, least] = [null, bars ? Infinity : NEAR];
  for (const one of chart.marks) {
    const distance = bars ? Math.abs(one.x - x) : Math.hypot(one.x - x, one.y - y);
    if (one.panel === panel && distance < least) [best, least] = [one, distance];
  }
  return best;
}

/* Where a key leads: along the series with left and right, to another with up and down; undefined if nowhere. */
function markAfter(chart, key) {
  if (key === "Escape") return null;
  if (!(key in STEPS) && key !== "ArrowUp" && key !== "ArrowDown") return undefined;
  const rows = chart.order().map((s) => marksOf(chart, s)).filter((row) => row.length);
  if (!rows.length) return undefined;
  const { current } = chart;
  if (!current) return rows[0][0];
  const at = rows.findIndex((row) => row[0].point.s === current.point.s);
  if (key in STEPS) {
    const place = rows[at].indexOf(current) + STEPS[key];
    return rows[at][Math.min(Math.max(place, 0), rows[at].length - 1)];
  }
  const row = rows[(at + (key === "ArrowUp" ? rows.length - 1 : 1)) % rows.length];
  const far = (one) => (one.panel === current.panel ? 0 : 1e6) + Math.abs(one.x - current.x);
  return row.reduce((a, b) => (far(b) < far(a) ? b : a));
}

/* The marks of a series in the order of reading: a line as it runs, all else from left to right. */
function marksOf(chart, s) {
  const marks = chart.marks.filter((one) => one.point.s === s);
  const rank = (one) => chart.panels.indexOf(one.panel) * 1e6 + one.x;
  return chart.data.kind === "lines" ? marks : marks.sort((a, b) => rank(a) - rank(b));
}

/* A point in words. */
function sentence(chart, { s, x, y, label }) {
  const { kind, series, x_label: xLabel, y_label: yLabel } = chart.data;
  const { name } = series[s];
  const value = `${yLabel} ${written(y)}`;
  if (kind === "bars") return `${x}, ${name}: ${value}${label && label !== x ? ` (${label})` : ""}`;
  return `${label && label !== name ? `${label}, ` : ""}${name}: ${xLabel} ${written(x)}, ${value}`;
}

/* What stands near a point: its values, for bars those of all series, to be compared. */
function tipRows(chart, { s, x, y, label }) {
  const { kind, series, x_label: xLabel, y_label: yLabel } = chart.data;
  const row = (name, value, own = false) => make("div", { className: own ? "own" : "" },
    make("span", { textContent: name }), make("b", { textContent: value }));
  const heading = (words) => make("strong", { textContent: words });
  if (kind !== "bars") {
    const { name } = series[s];
    const names = label && label !== name ? [heading(label), make("div", {}, name)] : [heading(name)];
    return [...names, row(xLabel, written(x)), row(yLabel, written(y))];
  }
  const rows = chart.order().map((other) => {
    const point = chart.points.find((one) => one.s === other && one.x === x);
    return row(series[other].name, point && point.y !== null ? written(point.y) : "–", other === s);
  });
  return [heading(x), ...(label && label !== x ? [make("div", {}, label)] : []), ...rows];
}

/* Put the tip above and beside its point, inside the chart, and never upon the point. */
function placeTip(chart, { panel, x, y }) {
  const [stage, picture] = [chart.stage, panel.picture].map((element) => element.getBoundingClientRect());
  const [left, top] = [x + picture.left - stage.left, y + picture.top - stage.top];
  const { offsetWidth: width, offsetHeight: height } = chart.tip;
  const beside = left + 14 + width <= stage.width ? left + 14 : left - 14 - width;
  const start = Math.min(Math.max(0, beside), Math.max(0, stage.width - width));
  const above = top - height - 10;
  const covers = left > start - 8 && left < start + width + 8;
  chart.tip.style.left = `${start}px`;
  chart.tip.style.top = `${above < 0 && covers ? top + 14 : Math.max(0, above)}px`;
}

/* Scroll a point into view. */
function reveal({ panel, x }) {
  const { scroller, box } = panel;
  const [left, right] = [scroller.scrollLeft + 30, scroller.scrollLeft + scroller.clientWidth - 30];
  if (x < left || x > right) scroller.scrollLeft = x - scroller.clientWidth / 2;
  box.scrollIntoView({ block: "nearest", behavior: "instant" });
}
