/* A chart: its points, what of them is shown, and the one that is read out. */

const HINT = "Point at the chart, or focus it and use the arrow keys, to read values.";
const PAPER = 640; // pixels that a chart has in print

class Chart {
  constructor(figure, data) {
    this.data = data;
    this.hidden = new Set();
    this.group = "";
    this.current = null; // the mark that is read out
    this.marks = [];
    this.panels = [];
    this.printing = false;
    const each = (value, i) => (Array.isArray(value) ? value[i] : value) ?? "";
    this.points = data.series.flatMap((series, s) => series.x.map((x, i) => (
      { s, i, x, y: series.y[i], label: each(series.labels, i), group: each(series.groups, i) })));
    this.canLogX = data.kind !== "bars" && this.points.some(({ x }) => x > 0) && !this.points.some(({ x }) => x < 0);
    this.canLogY = this.points.some(({ y }) => y > 0);
    this.xLog = data.x_log && this.canLogX;
    this.yLog = data.y_log && this.canLogY;
    this.build(figure.querySelector(".live"));
    this.listen();
  }

  build(live) {
    const { kind, series, title, x_label: xLabel, y_label: yLabel } = this.data;
    this.plot = make("div", { className: "plot" });
    this.tip = make("div", { className: "tip", hidden: true });
    this.tip.setAttribute("aria-hidden", "true"); // the read-out says the same
    this.stage = make("div", { className: "stage", tabIndex: 0 }, this.plot, this.tip);
    this.stage.setAttribute("role", "application"); // else a screen reader keeps the arrow keys to itself
    this.stage.setAttribute("aria-roledescription", "chart");
    const what = `${title}: ${yLabel} over ${xLabel}, ${series.length} series of ${kind}`;
    this.stage.setAttribute("aria-label", `${what}. Arrow keys read values.`);
    this.readout = make("p", { className: "readout", textContent: HINT });
    this.readout.setAttribute("role", "status");
    this.notice = make("p", { className: "notice", hidden: true });
    const above = make("p", { className: "y-label", textContent: yLabel });
    const below = make("p", { className: "x-label", textContent: xLabel });
    live.append(makeControls(this), above, this.stage, below, this.notice, this.readout);
  }

  /* The series that are shown. */
  order() {
    return [...this.data.series.keys()].filter((s) => !this.hidden.has(s));
  }

  /* The points of the group, and of them those that can be drawn. */
  inGroup() {
    return this.points.filter((point) => this.group === "" || point.group === this.group);
  }

  shown() {
    return this.inGroup().filter(({ s, x, y }) => !this.hidden.has(s) && x !== null && y !== null);
  }

  categories() {
    return [...new Set(this.inGroup().map((point) => point.x))];
  }

  draw() {
    const width = this.printing ? PAPER : this.stage.clientWidth;
    if (!width) return;
    this.width = width;
    const scrolled = this.panels.map((panel) => panel.scroller.scrollLeft);
    [this.marks, this.panels] = [[], []];
    this.plot.replaceChildren();
    const shown = this.shown();
    (this.data.kind === "bars" ? drawBars : drawCurves)(this, shown);
    this.panels.forEach((panel, k) => { panel.scroller.scrollLeft = scrolled[k] || 0; });
    const lost = shown.length - this.marks.length;
    this.notice.hidden = shown.length > 0 && lost === 0;
    this.notice.textContent = shown.length
      ? `${lost === 1 ? "One value is" : `${lost} values are`} negative and cannot lie on a logarithmic axis.`
      : "There is nothing to show: choose a series or other data.";
    const point = this.current?.point;
    this.select(this.marks.find((one) => one.point === point), { silent: true });
  }

  listen() {
    const { stage } = this;
    stage.addEventListener("pointermove", (event) => this.select(markAt(this, event)));
    stage.addEventListener("pointerdown", (event) => this.select(markAt(this, event)));
    stage.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") this.select(null); });
    stage.addEventListener("blur", () => this.select(null));
    stage.addEventListener("keydown", (event) => {
      const target = event.ctrlKey || event.metaKey || event.altKey ? undefined : markAfter(this, event.key);
      if (target === undefined) return;
      event.preventDefault();
      this.select(target, { follow: true });
    });
    this.plot.addEventListener("scroll", () => this.select(this.current, { silent: true }), true);
    let request = 0;
    new ResizeObserver(() => { // one redrawing a frame, and none for a change of height
      cancelAnimationFrame(request);
      request = requestAnimationFrame(() => { if (stage.clientWidth !== this.width) this.draw(); });
    }).observe(stage);
    for (const [name, printing] of [["beforeprint", true], ["afterprint", false]]) {
      window.addEventListener(name, () => {
        this.printing = printing;
        this.draw();
      });
    }
  }

  /* Read a mark out, or none. */
  select(one, { silent = false, follow = false } = {}) {
    this.current = one || null;
    this.plot.querySelector(".ring")?.remove();
    for (const panel of this.panels) panel.slot?.setAttribute("visibility", "hidden");
    this.tip.hidden = !one;
    if (!one) return;
    if (one.panel.slot) {
      one.panel.slot.setAttribute("x", one.left);
      one.panel.slot.setAttribute("visibility", "visible");
    }
    svg("circle", { cx: one.x, cy: one.y, r: 6, class: "ring" }, one.panel.picture);
    if (follow) reveal(one);
    if (!silent) this.readout.textContent = sentence(this, one.point);
    this.tip.replaceChildren(...tipRows(this, one.point));
    placeTip(this, one);
  }
}
