// Ranges and ticks of axes. Ranges hold all series, hidden ones too, so that nothing jumps when one is toggled.
import type { Axis, Panel, Series } from "./document";
import { digits_of } from "./numbers";

export type Range = [number, number];

const kMargin = 0.03; // of the range, at ends that are not given

const at_most = (value: number): number => Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, value));
const positive = (value: number): number => at_most(Math.max(Number.MIN_VALUE, value));

export const is_upright = (series: Series): boolean => series.stroke === "rules" || series.stroke === "bands";

// What can be drawn on the axis: finite, and positive where it is logarithmic; everything else is NaN.
export function on_axis(value: number | null | undefined, axis: Axis): number {
  return typeof value === "number" && (!axis.logarithmic || value > 0) ? value : NaN;
}

function values_of(panel: Panel, along: "x" | "y", see: (value: number) => void): void {
  const axis = panel[along];
  const see_one = (value: number | null | undefined): void => {
    const v = on_axis(value, axis);
    if (Number.isFinite(v)) see(v);
  };
  for (const series of panel.series ?? []) {
    if (along === "x") {
      series.x.forEach(see_one);
      series.x_end?.forEach(see_one);
    } else if (!is_upright(series)) {
      series.y.forEach((y, i) => {
        see_one(y);
        const error = series.error?.[i];
        if (typeof y === "number" && typeof error === "number") [y - error, y + error].forEach(see_one);
      });
      if (series.stroke === "bars") (axis.logarithmic ? series.y.map((y) => y && y / 2) : [0]).forEach(see_one);
    }
  }
}

function range_of(panel: Panel, along: "x" | "y"): Range {
  const axis = panel[along];
  if (axis.ticks?.length) return [0.5, axis.ticks.length + 0.5];
  let least = Infinity, most = -Infinity;
  values_of(panel, along, (v) => {
    least = Math.min(least, v);
    most = Math.max(most, v);
  });
  const given = (bound: number | undefined): number | undefined => {
    const v = on_axis(bound, axis);
    return Number.isNaN(v) ? undefined : v;
  };
  const low = given(axis.low), high = given(axis.high);
  if (least > most) [least, most] = axis.logarithmic ? [1, 10] : [0, 1];
  least = low ?? Math.min(least, high ?? least);
  most = high ?? Math.max(most, low ?? most);
  return axis.logarithmic ? logarithmic(least, most, low, high) : linear(least, most, low, high);
}

function linear(least: number, most: number, low?: number, high?: number): Range {
  if (least === most) return [at_most(least - (Math.abs(least) || 1) / 2), at_most(most + (Math.abs(most) || 1) / 2)];
  const margin = kMargin * (most - least);
  return [low ?? (least === 0 ? 0 : at_most(least - margin)), high ?? (most === 0 ? 0 : at_most(most + margin))];
}

function logarithmic(least: number, most: number, low?: number, high?: number): Range {
  if (least === most) return [positive(least / 2), positive(most * 2)];
  const factor = Math.exp(kMargin * (Math.log(most) - Math.log(least)));
  return [low ?? positive(least / factor), high ?? positive(most * factor)];
}

// Whether the length of the range is a number: places in it are shares of that.
export const is_drawable = ([low, high]: Range, axis: Axis): boolean =>
  Number.isFinite(axis.logarithmic ? Math.log(high) - Math.log(low) : high - low);

const kSlim = 0.4; // the least ratio of sides of a panel with equal units

// With equal units, the shorter range grows about its middle until the panel is not a strip.
export function ranges_of(panel: Panel): [Range, Range] {
  const ranges: [Range, Range] = [range_of(panel, "x"), range_of(panel, "y")];
  if (!panel.equal_units || panel.heat) return ranges;
  const least = kSlim * Math.max(...ranges.map(([low, high]) => high - low));
  return ranges.map(([low, high]) => {
    const missing = Math.max(0, least - (high - low)) / 2;
    return [low - missing, high + missing];
  }) as [Range, Range];
}

// Multiples of 1, 2 or 5 times a power of ten, each once: about `count`, never more than twice that.
export function linear_ticks([low, high]: Range, count: number): number[] {
  const rough = (high - low) / Math.max(1, count);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((m) => m * power >= rough) ?? 10);
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  const digits = digits_of(step, Math.max(Math.abs(low), Math.abs(high)));
  const ticks = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
  return [...new Set(ticks.map((tick) => Number(tick.toPrecision(digits))))].filter(Number.isFinite);
}

// Powers of ten; 1, 2 and 5 times them where the range has few.
export function log_ticks([low, high]: Range, count: number): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const stride = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, count)));
  if (last - first >= 2) {
    const powers: number[] = [];
    for (let e = first; e <= last; e += stride) powers.push(Number(`1e${e}`));
    return powers.filter((v) => v > 0);
  }
  const finer: number[] = [];
  for (let e = first - 1; e <= last; ++e) finer.push(...[1, 2, 5].map((m) => Number(`${m}e${e}`)));
  const inside = finer.filter((v) => v >= low && v <= high);
  return inside.length >= 2 ? inside : linear_ticks([low, high], Math.min(count, 4)).filter((v) => v > 0);
}

export function ticks_of(axis: Axis, range: Range, count: number): number[] {
  if (axis.ticks?.length) return axis.ticks.map((_, i) => i + 1);
  return axis.logarithmic ? log_ticks(range, count) : linear_ticks(range, count);
}
