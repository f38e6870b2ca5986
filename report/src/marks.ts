// The marks of a series; many.ts has those of many points.
import * as Plot from "@observablehq/plot";
import { is_upright, on_axis, type Range } from "./axis";
import type { Numbers, Panel, Series, Stroke } from "./document";
import { kMany, line_places, path, squares, uprights } from "./many";
import type { Style } from "./strokes";

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

const inside = (v: number, [low, high]: Range): boolean => v >= low && v <= high;

// Bars of y - error to y + error, cut at the frame.
function errors(columns: Columns, style: Style, ranges: [Range, Range]): Plot.Markish {
  return path({ stroke: style.colour, "stroke-width": 1.4, fill: "none" }, (x, y) => {
    const [low, high] = ranges[1];
    const bars: [number, number, number][] = [];
    for (let i = 0; i < columns.x.length; ++i) {
      const least = columns.y[i]! - columns.error[i]!, most = columns.y[i]! + columns.error[i]!;
      if (inside(columns.x[i]!, ranges[0]) && most >= low && least <= high)
        bars.push([x(columns.x[i]!), y(Math.min(high, most)), y(Math.max(low, least))]);
    }
    if (bars.length > kMany) return uprights(bars);
    const cap = bars.length > 100 ? 0 : 3;
    return bars.map(([px, top, bottom]) =>
      `M${px} ${bottom}V${top}${cap ? `M${px - cap} ${bottom}h${2 * cap}M${px - cap} ${top}h${2 * cap}` : ""}`).join("");
  });
}

function points(series: Series, panel: Panel, columns: Columns, style: Style, ranges: [Range, Range]): Plot.Markish {
  const size = radius(series);
  const is_seen = (i: number): boolean => inside(columns.x[i]!, ranges[0]) && inside(columns.y[i]!, ranges[1]);
  if (series.x.length > kMany)
    return path({ fill: style.colour }, (x, y) => {
      const places: [number, number][] = [];
      for (let i = 0; i < columns.x.length; ++i) if (is_seen(i)) places.push([x(columns.x[i]!), y(columns.y[i]!)]);
      return squares(places, size);
    });
  const open = series.stroke === "dashed_points";
  return Plot.dot(series.x, {
    x: columns.x, y: columns.y, r: size, symbol: style.symbol, filter: (_, i) => is_seen(i),
    fill: open ? "var(--surface)" : style.colour, fillOpacity: series.stroke === "points" ? 0.9 : 1,
    stroke: open ? style.colour : panel.heat ? "var(--surface)" : "none", strokeWidth: open ? 1.6 : 0.5,
  });
}

function line(series: Series, panel: Panel, columns: Columns, style: Style, range: Range): Plot.Markish {
  const places = series.x.length > kMany
    ? line_places(columns.x, columns.y, range, panel.x.logarithmic ?? false) : undefined;
  const seen = (values: Float64Array): Float64Array => (places ? Float64Array.from(places, (i) => values[i]!) : values);
  return Plot.line(places ?? series.x, {
    x: seen(columns.x), y: seen(columns.y), stroke: style.colour, strokeWidth: 1.8,
    strokeDasharray: style.dash && !places ? style.dash : undefined, clip: true,
  });
}

export function marks_of(series: Series, panel: Panel, style: Style, ranges: [Range, Range]): Plot.Markish {
  const columns = columns_of(series, panel);
  const { x, y, x_end } = columns;
  const clip = true, stroke = style.colour;
  switch (series.stroke) {
    case "bands":
      return Plot.rect(series.x, { x1: x, x2: x_end, fill: stroke, fillOpacity: 0.14, stroke, strokeOpacity: 0.7, clip });
    case "rules":
      return Plot.ruleX(series.x, { x, stroke, strokeWidth: 1.8, strokeDasharray: style.dash, clip });
    case "bars": {
      const base = Math.max(ranges[1][0], Math.min(0, ranges[1][1]));
      return Plot.rect(series.x, {
        x1: x, x2: x_end, y1: () => base, y2: y, fill: stroke, fillOpacity: 0.55, stroke, strokeWidth: 0.6, clip,
      });
    }
    case "region":
      return Plot.line(series.x, {
        x, y, curve: "linear-closed", fill: stroke, fillOpacity: style.opacity, stroke, strokeWidth: 1, clip,
      });
  }
  const parts: Plot.Markish[] = [];
  if (has_line(series.stroke)) parts.push(line(series, panel, columns, style, ranges[0]));
  if (series.error) parts.push(errors(columns, style, ranges));
  if (has_points(series.stroke)) parts.push(points(series, panel, columns, style, ranges));
  return parts;
}
