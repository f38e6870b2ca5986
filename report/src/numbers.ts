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

// Of an axis: short, and without the rounding of sums of steps.
export function tick_text(value: number, as_power = is_far(Math.abs(value))): string {
  if (value === 0) return "0";
  return as_power ? scientific(value, 6) : fixed(value, 10);
}

// All in one way: as powers where the greatest is far from 1, on logarithmic axes where any is.
export function tick_texts(values: number[], logarithmic: boolean): string[] {
  const sizes = values.filter((v) => v !== 0).map(Math.abs);
  const as_power = logarithmic ? sizes.some(is_far) : sizes.length > 0 && is_far(Math.max(...sizes));
  return values.map((v) => tick_text(v, as_power));
}
