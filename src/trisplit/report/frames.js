/* A matrix that changes: a picture with a pixel for each entry, a slider, and a button that plays it. */

const PACE = 120; // milliseconds a frame
const CALM_PACE = 1000; // for those who want less motion

class Frames {
  constructor(figure, data) {
    this.data = data;
    this.values = Uint8Array.from(atob(data.values), (character) => character.charCodeAt(0));
    this.cell = null; // the entry that is read out: its row and column
    this.timer = 0;
    this.build(figure.querySelector(".live"), figure.id);
    this.listen();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    matchMedia("print").addEventListener("change", () => this.draw());
  }

  build(live, id) {
    const { rows, columns, captions, title } = this.data;
    this.canvas = make("canvas", { width: columns, height: rows, tabIndex: 0 });
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "matrix");
    this.canvas.setAttribute("aria-label", `${title}: ${rows} rows, ${columns} columns. Arrow keys read entries.`);
    this.canvas.style.aspectRatio = `${columns} / ${rows}`;
    const range = { min: 0, max: captions.length - 1, step: 1, value: 0 };
    this.slider = make("input", { type: "range", id: `${id}-slider`, ...range });
    this.button = make("button", { type: "button", textContent: "Play", disabled: captions.length < 2 });
    this.caption = make("output", { className: "caption", htmlFor: this.slider.id });
    this.readout = make("p", { className: "readout" });
    this.readout.setAttribute("role", "status");
    const key = make("p", { className: "key" }, "0", make("span", {}), "1");
    const label = make("label", { htmlFor: this.slider.id, textContent: "Frame" });
    const panel = make("div", { className: "side" }, label, this.slider, this.caption, this.button, key, this.readout);
    live.append(make("div", { className: "matrix" }, this.canvas), panel);
  }

  listen() {
    this.slider.addEventListener("input", () => { this.stop(); this.draw(); });
    this.button.addEventListener("click", () => (this.timer ? this.stop() : this.play()));
    const { rows, columns } = this.data;
    this.canvas.addEventListener("pointermove", (event) => {
      const box = this.canvas.getBoundingClientRect();
      this.read(((event.clientY - box.top) / box.height) * rows, ((event.clientX - box.left) / box.width) * columns);
    });
    this.canvas.addEventListener("pointerleave", () => this.forget());
    this.canvas.addEventListener("blur", () => this.forget());
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    this.canvas.addEventListener("keydown", (event) => {
      if (!(event.key in moves)) return;
      event.preventDefault();
      const [down, right] = this.cell ? moves[event.key] : [0, 0];
      const [row, column] = this.cell || [0, 0];
      this.read(row + down, column + right);
    });
  }

  read(row, column) {
    const inside = (value, size) => Math.min(Math.max(Math.floor(value), 0), size - 1);
    this.cell = [inside(row, this.data.rows), inside(column, this.data.columns)];
    this.draw();
  }

  forget() {
    this.cell = null;
    this.draw();
  }

  play() {
    const last = this.data.captions.length - 1;
    if (Number(this.slider.value) === last) this.slider.value = 0;
    this.button.textContent = "Pause";
    this.draw();
    const pace = matchMedia("(prefers-reduced-motion: reduce)").matches ? CALM_PACE : PACE;
    this.timer = setInterval(() => {
      this.slider.value = Number(this.slider.value) + 1;
      this.draw();
      if (Number(this.slider.value) === last) this.stop();
    }, pace);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.button.textContent = "Play";
  }

  /* The colours of entries 0, 1/4 and 1, from the style sheet. */
  colours() {
    const style = getComputedStyle(this.canvas);
    return ["--heat-0", "--heat-1", "--heat-2"].map((name) => {
      const hex = style.getPropertyValue(name).trim();
      return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    });
  }

  draw() {
    const { rows, columns, captions } = this.data;
    const frame = Number(this.slider.value);
    const start = frame * rows * columns;
    const [low, middle, high] = this.colours();
    const context = this.canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    for (let k = 0; k < rows * columns; k += 1) {
      const share = Math.sqrt(this.values[start + k] / 255); // small entries, which first iterates consist of, show
      const [from, to, part] = share < 0.5 ? [low, middle, 2 * share] : [middle, high, 2 * share - 1];
      for (let c = 0; c < 3; c += 1) image.data[4 * k + c] = from[c] + (to[c] - from[c]) * part;
      image.data[4 * k + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    this.caption.textContent = captions[frame];
    this.slider.setAttribute("aria-valuetext", captions[frame]);
    const [row, column] = this.cell || [0, 0];
    const value = (this.values[start + row * columns + column] / 255).toFixed(2);
    this.readout.textContent = this.cell ? `row ${row + 1}, column ${column + 1}: ${value}` : "";
  }
}
