/* Scales: from numbers to pixels, with ticks, and how numbers are written. */

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const ZERO_STRIP = 20; // pixels at the low end of a logarithmic axis, where zeros lie

/* A power of ten: 10⁻³. */
function power(exponent) {
  const digits = [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPTS[digit]).join("");
  return `10${exponent < 0 ? "⁻" : ""}${digits}`;
}

/* A number with the digits that a reader can use. */
function written(value) {
  const size = Math.abs(value);
  let text = value.toExponential(3).replace(/\.?0*e\+?/, "e");
  if (Number.isInteger(value) && size < 1e12) text = value.toLocaleString("en-GB");
  else if (size >= 1e-3 && size < 1e5) text = String(Number(value.toPrecision(5)));
  else if (size >= 1e5 && size < 1e9) text = value.toLocaleString("en-GB", { maximumFractionDigits: 1 });
  return text.replace(/-/g, "−");
}

/* About `count` round numbers between two numbers, a step of 1, 2 or 5 times a power of ten apart. */
function linearTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5].find((multiple) => multiple * unit >= rough * (1 - 1e-9)) || 10);
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-6); k <= high / step + 1e-6 && ticks.length < 100; k += 1) {
    const value = Number((k * step).toPrecision(12));
    ticks.push({ value, text: tickText(value, step, largest) });
  }
  return ticks;
}

/* A tick with the digits that tell it from its neighbours. */
function tickText(value, step, largest) {
  if (value === 0) return "0";
  const last = Math.floor(Math.log10(step) + 1e-9); // the power of ten of the last digit
  const plain = last >= -4 && (largest < 1e9 || step < 1e-3 * largest);
  const digits = Math.min(12, Math.max(0, Math.floor(Math.log10(Math.abs(value)) + 1e-9) - last));
  const decimals = Math.max(0, -last);
  const text = plain
    ? value.toLocaleString("en-GB", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
    : value.toExponential(digits).replace("e+", "e");
  return text.replace(/-/g, "−");
}

/* Ticks between 10^a and 10^b: powers of ten, with 2 and 5 between them where there is room. */
function logTicks(a, b, count) {
  const [first, last] = [Math.ceil(a - 1e-9), Math.floor(b + 1e-9)];
  const stride = Math.max(1, Math.ceil((last - first + 1) / count));
  const plain = first >= -3 && last <= 5;
  const ticks = [];
  if (last - first >= 1) {
    for (let k = first - 1; k <= last; k += 1) {
      const labelled = k >= first && (k - first) % stride === 0;
      if (labelled) ticks.push({ value: 10 ** k, text: plain ? written(10 ** k) : power(k) });
      if (b - a > 4) continue;
      for (let multiple = 2; multiple < 10; multiple += 1) {
        const text = b - a <= 2.2 && count > 4 && [2, 5].includes(multiple) ? written(multiple * 10 ** k) : "";
        ticks.push({ value: multiple * 10 ** k, text });
      }
    }
  } else {
    for (let k = first - 1; k <= last; k += 1) {
      for (const multiple of [1, 2, 5]) ticks.push({ value: multiple * 10 ** k, text: written(multiple * 10 ** k) });
    }
  }
  const within = (t) => t >= a - 1e-9 && t <= b + 1e-9;
  const inside = ticks.filter(({ value }) => value > 0 && within(Math.log10(value)));
  return inside.filter(({ text }) => text).length > 1 ? inside : linearTicks(10 ** a, 10 ** b, count);
}

/* From values to pixels between `from` (low) and `to`; `base` says that bars stand on the low end or on zero. */
function makeScale(values, { log, from, to, base = false, count = 6 }) {
  return log ? logScale(values, from, to, base, count) : linearScale(values, from, to, base, count);
}

function linearScale(values, from, to, base, count) {
  let [low, high] = extent(base ? [...values, 0] : values, [0, 1]);
  if (high - low <= 1e-12 * Math.max(Math.abs(low), Math.abs(high))) {
    const pad = Math.abs(high) * 0.1 || 1; // one value alone
    [low, high] = base ? [Math.min(0, low), Math.max(high, low + pad)] : [low - pad, high + pad];
  }
  const margin = 0.04 * (high - low);
  if (!base || low < 0) low = low >= 0 ? Math.max(0, low - margin) : low - margin;
  if (!base || high > 0) high += margin;
  const place = (value) => from + ((value - low) / (high - low)) * (to - from);
  const ticks = linearTicks(low, high, count).map((tick) => ({ ...tick, at: place(tick.value) }));
  return { place, ticks, baseline: base ? place(0) : from };
}

function logScale(values, from, to, base, count) {
  const zeros = values.some((value) => value === 0);
  const start = from + Math.sign(to - from) * (zeros ? ZERO_STRIP : 0);
  let [a, b] = extent(values.filter((value) => value > 0).map(Math.log10), [-1, 0]);
  if (base) a = Math.floor(a - 0.2); // the smallest bar must have a height
  const margin = 0.04 * (b - a) || 0.5;
  [a, b] = [base ? a : a - margin, b + margin];
  const place = (value) => {
    if (value <= 0) return value < 0 ? null : from;
    return start + ((Math.log10(value) - a) / (b - a)) * (to - start);
  };
  const ticks = logTicks(a, b, count).map((tick) => ({ ...tick, at: place(tick.value) }));
  if (zeros) ticks.push({ value: 0, text: "0", at: from });
  return { place, ticks, baseline: from };
}

function extent(values, otherwise) {
  if (!values.length) return otherwise;
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
}
