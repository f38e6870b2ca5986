// How numbers are written: a thin space groups thousands from 10 000 on, a real minus, powers of ten.

const kThin = "\u202f";
const kMinus = "\u2212";
const kRaised = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";
const kMissing = "\u2013";

function grouped(text: string): string {
  const [whole = "", part] = text.replace("-", "").split(".");
  const groups = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, kThin) : whole;
  return (text.startsWith("-") ? kMinus : "") + groups + (part ? `.${part}` : "");
}

const without_zeros = (text: string): string => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

// m x 10^n; the m of a power of ten itself is left out.
function scientific(value: number, digits: number): string {
  const [mantissa = "", exponent = ""] = value.toExponential(digits - 1).split("e");
  const raised = exponent.replace("+", "").replace("-", "\u207b").replace(/\d/g, (d) => kRaised[Number(d)]!);
  const shown = without_zeros(mantissa).replace("-", kMinus);
  return /^\u2212?1$/.test(shown) ? `${shown.slice(0, -1)}10${raised}` : `${shown} \u00d7 10${raised}`;
}

function fixed(value: number, digits: number): string {
  const decimals = digits - 1 - Math.floor(Math.log10(Math.abs(value)));
  const text = without_zeros(value.toFixed(Math.min(20, Math.max(0, decimals))));
  return grouped(/^-?0$/.test(text) ? "0" : text);
}

// Whole numbers below 10^15 in full, others with `digits` significant ones; a dash for what is not there.
export function written(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return kMissing;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return grouped(String(value));
  return size >= 1e6 || size < 1e-4 ? scientific(value, digits) : fixed(value, digits);
}

const is_far = (size: number): boolean => size >= 1e6 || size < 1e-4;
const kExact = 17; // significant digits that tell all numbers apart

// Significant digits of multiples of `step` up to `size`.
export function digits_of(step: number, size: number): number {
  const digits = Math.floor(Math.log10(size)) - Math.floor(Math.log10(step)) + 1;
  return Number.isFinite(digits) ? Math.min(kExact, Math.max(1, digits)) : kExact;
}

// Of an axis: short, and without the rounding of sums of steps.
export function tick_text(value: number, as_power = is_far(Math.abs(value)), digits = as_power ? 6 : 10): string {
  if (value === 0) return "0";
  return as_power ? scientific(value, digits) : fixed(value, digits);
}

// All in one way: as powers where the greatest is far from 1, on logarithmic axes where any is; with as many digits as
// tell neighbours apart. Large numbers that are close to each other are written in full.
export function tick_texts(values: number[], logarithmic: boolean): string[] {
  const sizes = values.filter((v) => v !== 0).map(Math.abs);
  const most = Math.max(...sizes);
  const steps = values.slice(1).map((v, i) => Math.abs(v - values[i]!)).filter((step) => step > 0);
  const needed = steps.length > 0 ? digits_of(Math.min(...steps), most) : 1;
  const is_close = needed > 4 && most < 1e15 && most >= 1;
  const as_power = logarithmic ? sizes.some(is_far) : sizes.length > 0 && is_far(most) && !is_close;
  return values.map((v) => tick_text(v, as_power, logarithmic ? undefined : Math.max(as_power ? 6 : 10, needed)));
}

// The number that a text begins with: "-0.0168 +- 0.0860", "0.385%", "1.6330 (3 of 4 failed)".
export function leading_number(text: string): number | undefined {
  const found = /^\s*([+\-\u2212]?)((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)/i.exec(text);
  return found ? (found[1] === "" || found[1] === "+" ? 1 : -1) * Number(found[2]) : undefined;
}
