// The marks of a series. Many points are one path, because a page of 100,000 elements is slow.
import * as Plot from "@observablehq/plot";
import { is_upright, on_axis, type Range } from "./axis";
import type { Numbers, Panel, Series, Stroke } from "./document";
import { drawn } from "./dom";
import type { Style } from "./strokes";

export const kManyPoints = 5000;

export interface Columns {
  x: Float64Array;
  y: Float64Array;
  x_end: Float64Array;
  error: Float64Array;
}

// Numbers that can be drawn; NaN interrupts.
export function columns_of(series: Series, panel: Panel): Columns {
  const column = (values: Numbers | undefined, seen: (v: number | null | undefined) => number): Float64Array =>
    Float64Array.from(series.x, (_, i) => seen(values?.[i]));
  return {
    x: column(series.x, (v) => on_axis(v, panel.x)),
    y: column(series.y, (v) => (is_upright(series) ? NaN : on_axis(v, panel.y))),
    x_end: column(series.x_end, (v) => on_axis(v, panel.x)),
    error: column(series.error, (v) => (typeof v === "number" && v > 0 ? v : NaN)),
  };
}

const has_line = (stroke: Stroke): boolean => /^(line|dashed)/.test(stroke);
const has_points = (stroke: Stroke): boolean => /points$|^marks$/.test(stroke);

export function radius(series: Series): number {
  const many = series.x.length > 400;
  if (series.stroke === "marks") return many ? 2.5 : 4;
  if (series.stroke === "points") return many ? 1.5 : 2.2;
  return series.x.length > 60 ? 2 : 3.2;
}

type Geometry = (x: (v: number) => number, y: (v: number) => number) => string;

// A mark that is one path, from the scales of the plot.
function path(attributes: Record<string, string | number>, geometry: Geometry): Plot.Markish {
  return (_index, scales) => {
    const x = scales.x as (v: number) => number, y = scales.y as (v: number) => number;
    return drawn("path", { ...attributes, d: geometry(x, y) });
  };
}

const inside = (v: number, [low, high]: Range): boolean => v >= low && v <= high;

// Squares on a grid of half pixels, each once.
function squares(columns: Columns, style: Style, size: number, ranges: [Range, Range]): Plot.Markish {
  return path({ fill: style.colour }, (x, y) => {
    const places = new Set<number>();
    const parts: string[] = [];
    for (let i = 0; i < columns.x.length; ++i) {
      if (!inside(columns.x[i]!, ranges[0]) || !inside(columns.y[i]!, ranges[1])) continue;
      const px = Math.round(2 * x(columns.x[i]!)), py = Math.round(2 * y(columns.y[i]!));
      const place = px * 16384 + py;
      if (places.has(place)) continue;
      places.add(place);
      parts.push(`M${px / 2 - size / 2} ${py / 2 - size / 2}h${size}v${size}h${-size}z`);
    }
    return parts.join("");
  });
}

// Bars of y - error to y + error, cut at the frame.
function errors(columns: Columns, style: Style, ranges: [Range, Range]): Plot.Markish {
  return path({ stroke: style.colour, "stroke-width": 1.4, fill: "none" }, (x, y) => {
    const [low, high] = ranges[1];
    const parts: string[] = [];
    const cap = columns.x.length > 100 ? 0 : 3;
    for (let i = 0; i < columns.x.length; ++i) {
      const middle = columns.y[i]!, error = columns.error[i]!;
      if (!inside(columns.x[i]!, ranges[0]) || !(error > 0) || !(middle + error >= low && middle - error <= high)) continue;
      const px = x(columns.x[i]!), top = y(Math.min(high, middle + error)), bottom = y(Math.max(low, middle - error));
      const end = (py: number): string => (cap ? `M${px - cap} ${py}h${2 * cap}` : "");
      parts.push(`M${px} ${bottom}V${top}${end(bottom)}${end(top)}`);
    }
    return parts.join("");
  });
}

function points(series: Series, columns: Columns, style: Style, ranges: [Range, Range]): Plot.Markish {
  const size = radius(series);
  if (series.x.length > kManyPoints) return squares(columns, style, Math.max(1.5, size), ranges);
  const open = series.stroke === "dashed_points";
  return Plot.dot(series.x, {
    x: columns.x, y: columns.y, r: size, symbol: style.symbol,
    filter: (_, i) => inside(columns.x[i]!, ranges[0]) && inside(columns.y[i]!, ranges[1]),
    fill: open ? "var(--surface)" : style.colour, stroke: open ? style.colour : "none",
    fillOpacity: series.stroke === "points" ? 0.75 : 1, strokeWidth: 1.6,
  });
}

export function marks_of(series: Series, panel: Panel, style: Style, ranges: [Range, Range]): Plot.Markish {
  const columns = columns_of(series, panel);
  const { x, y, x_end } = columns;
  const clip = true, stroke = style.colour;
  switch (series.stroke) {
    case "bands":
      return Plot.rect(series.x, { x1: x, x2: x_end, fill: stroke, fillOpacity: 0.14, clip });
    case "rules":
      return Plot.ruleX(series.x, { x, stroke, strokeWidth: 1.8, strokeDasharray: style.dash, clip });
    case "bars": {
      const base = Math.max(ranges[1][0], Math.min(0, ranges[1][1]));
      return Plot.rect(series.x, {
        x1: x, x2: x_end, y1: () => base, y2: y, fill: stroke, fillOpacity: 0.55, stroke, strokeWidth: 0.6, clip,
      });
    }
    case "region":
      return Plot.line(series.x, { x, y, curve: "linear-closed", fill: stroke, fillOpacity: 0.18, stroke, strokeWidth: 1, clip });
  }
  const parts: Plot.Markish[] = [];
  if (has_line(series.stroke))
    parts.push(Plot.line(series.x, { x, y, stroke, strokeWidth: 1.8, strokeDasharray: style.dash || undefined, clip }));
  if (series.error) parts.push(errors(columns, style, ranges));
  if (has_points(series.stroke)) parts.push(points(series, columns, style, ranges));
  return parts;
}
