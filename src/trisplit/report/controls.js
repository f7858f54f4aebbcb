/* What the reader can change: the series that are shown, the group, and whether an axis is logarithmic. */

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function makeGroup(className, label, ...children) {
  const box = make("div", { className }, ...children);
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", label);
  return box;
}

function press(button, pressed) {
  button.setAttribute("aria-pressed", String(pressed));
}

function makeControls(chart) {
  const tools = make("div", { className: "tools" });
  const groups = [...new Set(chart.points.map((point) => point.group))].filter((group) => group !== "");
  if (groups.length > 1) tools.append(makeFilter(chart, groups));
  if (chart.canLogX) tools.append(makeSwitch(chart, "x", "xLog"));
  if (chart.canLogY) tools.append(makeSwitch(chart, "y", "yLog"));
  return make("div", { className: "controls" }, makeLegend(chart), tools);
}

function makeFilter(chart, groups) {
  const words = chart.data.filter_label || "groups";
  const options = ["", ...groups].map((value) => make("option", { value, textContent: value || `all ${words}` }));
  const select = make("select", { className: "filter" }, ...options);
  select.addEventListener("change", () => {
    chart.group = select.value;
    chart.draw();
  });
  return make("label", {}, `${words[0].toUpperCase()}${words.slice(1)} `, select);
}

function makeSwitch(chart, axis, field) {
  const buttons = [false, true].map((log) => {
    const button = make("button", { type: "button", textContent: log ? "log" : "linear" });
    press(button, chart[field] === log);
    button.addEventListener("click", () => {
      chart[field] = log;
      buttons.forEach((other, k) => press(other, Boolean(k) === log));
      chart.draw();
    });
    return button;
  });
  return makeGroup(`switch ${axis}`, `${axis} axis`, make("span", { textContent: `${axis} axis` }), ...buttons);
}

function makeLegend(chart) {
  const { series } = chart.data;
  const buttons = series.map((one, s) => {
    const words = make("span", { textContent: one.name });
    const button = make("button", { type: "button" }, makeSwatch(chart, one, s), words);
    button.addEventListener("click", () => {
      if (!chart.hidden.delete(s)) chart.hidden.add(s);
      show();
    });
    return button;
  });
  const all = make("button", { type: "button", className: "all" });
  all.addEventListener("click", () => {
    chart.hidden = new Set(chart.hidden.size ? [] : series.keys());
    show();
  });
  const label = () => {
    buttons.forEach((button, s) => press(button, !chart.hidden.has(s)));
    all.textContent = chart.hidden.size ? "show all" : "hide all";
  };
  const show = () => {
    label();
    chart.draw();
  };
  label();
  return makeGroup("legend", "Series", ...buttons, ...(buttons.length > 5 ? [all] : []));
}

/* A sample of how a series is drawn. */
function makeSwatch(chart, series, s) {
  const picture = svg("svg", { width: 22, height: 12, "aria-hidden": "true" });
  const layer = svg("g", { class: "series" }, picture);
  const { kind } = chart.data;
  const look = series.dash ? "hollow" : "";
  paint(layer, series, s);
  if (kind === "bars") svg("rect", { x: 5, y: 1, width: 12, height: 10, class: `bar ${look}` }, layer);
  if (kind === "lines") svg("path", { d: "M0 6H22", class: "line", "stroke-dasharray": dashes(series, s) }, layer);
  if (kind === "points" || series.marker) mark(s, 11, 6, 3.6, { class: `mark ${look}` }, layer);
  return picture;
}
