/* Drawing bars: groups of them over categories, in as many panels as a wide window needs; a narrow one scrolls. */

const BAR_AREA = 210;
const LONGEST_NAME = 22; // characters; the read-out has the whole name
const MOST_PANELS = 4;

function drawBars(chart, shown) {
  const categories = chart.categories();
  const series = chart.order();
  const least = Math.max(16, 5 * Math.max(1, series.length) + 5); // pixels of a category
  const available = chart.width - 70;
  const panels = available < 560 && !chart.printing
    ? 1
    : Math.min(chart.printing ? 50 : MOST_PANELS, Math.ceil((categories.length * least) / available));
  const perPanel = Math.ceil(categories.length / Math.max(1, panels)) || 1;
  const names = categories.map((name) => (name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name));
  const widest = Math.max(...names.map(textWidth), 10);
  const place = new Map(categories.map((name, k) => [name, k]));
  const values = shown.map((point) => point.y);
  for (let first = 0; first < Math.max(1, categories.length); first += perPanel) {
    const slice = names.slice(first, first + perPanel);
    const turned = widest + 8 > available / perPanel;
    const bottom = TOP + BAR_AREA;
    const height = bottom + Math.ceil(turned ? widest + 12 : 26);
    const y = makeScale(values, { log: chart.yLog, from: bottom - (chart.yLog ? 6 : 0), to: TOP, base: true });
    const panel = addPanel(chart, y, height, least * perPanel);
    const slot = panel.width / perPanel;
    panel.slot = svg("rect", { class: "slot", x: 0, y: TOP, width: slot, height: bottom - TOP, visibility: "hidden" });
    panel.grid.before(panel.slot);
    svg("line", { x1: 0, x2: panel.width, y1: y.baseline, y2: y.baseline, class: "tick" }, panel.grid);
    slice.forEach((name, k) => drawName(panel, name, (k + 0.5) * slot, bottom + 8, turned));
    const inside = shown.filter((point) => place.get(point.x) >= first && place.get(point.x) < first + perPanel);
    series.forEach((s, rank) => {
      const points = inside.filter((point) => point.s === s);
      const left = (point) => (place.get(point.x) - first) * slot;
      drawSeries(chart, panel, s, points, left, y, slot, rank / series.length, series.length);
    });
  }
}

function drawName(panel, name, x, y, turned) {
  const where = turned
    ? { transform: `translate(${x + 4} ${y}) rotate(-90)`, "text-anchor": "end" }
    : { x, y: y + 10, "text-anchor": "middle" };
  write(panel.picture, { ...where, class: "name" }, name);
}

/* The bars of one series in one panel; a zero is a ring on the floor, lest it looks like a missing value. */
function drawSeries(chart, panel, s, points, left, y, slot, share, count) {
  const layer = svg("g", { class: "series" }, panel.picture);
  const series = chart.data.series[s];
  paint(layer, series, s);
  const width = Math.min(28, (slot - Math.max(4, 0.18 * slot)) / count);
  for (const point of points) {
    const at = y.place(point.y);
    if (at === null) continue;
    const x = left(point) + slot / 2 + (share - 0.5) * width * count;
    const [top, end] = [Math.min(at, y.baseline), Math.max(at, y.baseline)];
    const look = series.dash ? "bar hollow" : "bar";
    if (point.y === 0) {
      mark(0, x + width / 2, y.baseline, Math.min(3, width / 2), { class: "bar mark zero" }, layer);
    } else {
      const size = { x: x.toFixed(1), y: top.toFixed(1), width: Math.max(1, width - 1).toFixed(1) };
      svg("rect", { ...size, height: Math.max(1, end - top).toFixed(1), class: look }, layer);
    }
    chart.marks.push({ point, panel, x: x + width / 2, y: at, left: left(point), slot });
  }
}
