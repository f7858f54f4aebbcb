/* Drawing lines and points. A panel is a fixed vertical axis beside a picture, which may scroll. */

const TOP = 12;
const FONT = 12;
const MARKS = [
  (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
  (r) => `M${-0.9 * r} ${-0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}Z`,
  (r) => `M0 ${-1.2 * r}L${1.15 * r} ${0.85 * r}H${-1.15 * r}Z`,
  (r) => `M0 ${-1.3 * r}L${1.2 * r} 0L0 ${1.3 * r}L${-1.2 * r} 0Z`,
];
const DASHES = ["", "7 4", "2 3", "9 3 2 3"];
const pen = document.createElement("canvas").getContext("2d");

function svg(tag, attributes, parent) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (parent) parent.append(element);
  return element;
}

function write(parent, attributes, words) {
  svg("text", attributes, parent).textContent = words;
}

function textWidth(words) {
  pen.font = `${FONT}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(words).width;
}

/* The colour of a series as a custom property, so that dark mode needs no redrawing. */
function paint(element, series, s) {
  const place = series.colour ?? s % 8;
  element.style.setProperty("--colour", typeof place === "number" ? `var(--series-${place})` : place);
}

/* Dashes that were asked for, or that tell series of one colour apart. */
function dashes(series, s) {
  return DASHES[(Math.floor(s / 8) + (series.dash ? 1 : 0)) % DASHES.length];
}

function mark(s, x, y, r, attributes, parent) {
  const d = MARKS[s % MARKS.length](r);
  return svg("path", { d, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, ...attributes }, parent);
}

/* A panel with its vertical axis; returns the picture to draw in, and its width once the axis has taken its share. */
function addPanel(chart, yScale, height, wanted) {
  const box = document.createElement("div");
  box.className = "panel";
  const widest = Math.max(...yScale.ticks.map((tick) => textWidth(tick.text)), 8);
  const axisWidth = Math.ceil(widest) + 14;
  const axis = svg("svg", { class: "axis", width: axisWidth, height, "aria-hidden": "true" });
  const scroller = document.createElement("div");
  scroller.className = "scroller";
  scroller.tabIndex = -1; // the arrow keys of the chart scroll it
  const width = Math.max(chart.width - axisWidth - 1, wanted, 40);
  const picture = svg("svg", { class: "picture", width, height, "aria-hidden": "true" }, scroller);
  const grid = svg("g", { class: "grid" }, picture);
  for (const { at, text } of yScale.ticks) {
    if (text) write(axis, { x: axisWidth - 8, y: at + 4, "text-anchor": "end" }, text);
    svg("line", { x1: axisWidth - (text ? 4 : 2), x2: axisWidth, y1: at, y2: at, class: "tick" }, axis);
    if (text) svg("line", { x1: 0, x2: width, y1: at, y2: at }, grid);
  }
  box.append(axis, scroller);
  chart.plot.append(box);
  const panel = { box, scroller, picture, grid, width };
  chart.panels.push(panel);
  return panel;
}

function drawCurves(chart, shown) {
  const height = Math.round(Math.min(400, Math.max(260, chart.width * 0.5)));
  const bottom = height - 28;
  const values = shown.map((point) => point.y);
  const y = makeScale(values, { log: chart.yLog, from: bottom - 4, to: TOP });
  const panel = addPanel(chart, y, height, 0);
  const count = Math.max(2, Math.floor(panel.width / 64));
  const x = makeScale(shown.map((point) => point.x), { log: chart.xLog, from: 8, to: panel.width - 14, count });
  drawHorizontalAxis(panel, x, bottom);
  for (const s of chart.order()) {
    const layer = svg("g", { class: "series" }, panel.picture);
    const series = chart.data.series[s];
    paint(layer, series, s);
    const places = shown.filter((point) => point.s === s).map((point) => ({
      point, panel, x: x.place(point.x), y: y.place(point.y),
      floor: (chart.yLog && point.y === 0) || (chart.xLog && point.x === 0),
    }));
    const drawn = places.filter((place) => place.x !== null && place.y !== null);
    chart.marks.push(...drawn);
    if (chart.data.kind === "lines") drawLine(layer, series, s, places);
    else for (const place of drawn) drawMark(layer, series, s, place, 4);
  }
}

/* A line with a gap wherever a value is missing; what lies at a floor of a logarithmic axis is marked instead. */
function drawLine(layer, series, s, places) {
  const pieces = [[]];
  places.forEach((place, k) => {
    const missing = k > 0 && place.point.i !== places[k - 1].point.i + 1;
    const off = place.x === null || place.y === null || place.floor;
    if (missing || off) pieces.push([]);
    if (!off) pieces[pieces.length - 1].push(place);
    else if (place.floor && place.x !== null && place.y !== null) drawMark(layer, series, s, place, 3);
  });
  const step = ({ x, y }, k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
  const d = pieces.flatMap((piece) => piece.map(step)).join("");
  svg("path", { d, class: "line", "stroke-dasharray": dashes(series, s) }, layer);
  for (const piece of pieces) {
    if (series.marker || piece.length === 1) {
      for (const place of piece) drawMark(layer, series, s, place, 3.2);
    }
  }
}

function drawMark(layer, series, s, place, r) {
  mark(s, place.x, place.y, r, { class: place.floor ? "mark zero" : series.dash ? "mark hollow" : "mark" }, layer);
}

function drawHorizontalAxis(panel, x, bottom) {
  svg("line", { x1: 0, x2: panel.width, y1: bottom, y2: bottom, class: "tick" }, panel.grid);
  let right = -Infinity;
  for (const { at, text } of [...x.ticks].sort((a, b) => a.at - b.at)) {
    svg("line", { x1: at, x2: at, y1: bottom, y2: bottom + (text ? 5 : 3), class: "tick" }, panel.grid);
    if (!text) continue;
    svg("line", { x1: at, x2: at, y1: TOP, y2: bottom }, panel.grid);
    const half = textWidth(text) / 2;
    const middle = Math.min(Math.max(at, half), panel.width - half);
    if (middle - half < right + 6) continue; // two numbers must not run into each other
    right = middle + half;
    write(panel.picture, { x: middle, y: bottom + 19, "text-anchor": "middle" }, text);
  }
}
