// What is said of a spot: the same for the tooltip and for screen readers.
import type { Axis, Panel } from "./document";
import { amount_text } from "./heat";
import type { Spot } from "./hover";
import { written } from "./numbers";
import type { Drawing } from "./plot";

export interface Facts {
  head: string; // what the point is: its place on an axis of names, its label
  series: string;
  lines: [string, string][];
}

const kDigits = 5;

const name_on = (axis: Axis, value: number | null | undefined): string | undefined =>
  typeof value === "number" ? axis.ticks?.[Math.round(value) - 1] : undefined;

export function facts_of(spot: Spot, panel: Panel, drawing: Drawing): Facts {
  const x_name = panel.x.label || "x", y_name = panel.y.label || "y";
  const { series, index } = spot;
  if (!series) {
    const heat = panel.heat!;
    return {
      head: "", series: "",
      lines: [
        [x_name, written(drawing.x.invert(spot.x))],
        [y_name, written(drawing.y.invert(spot.y))],
        [heat.label || "value", amount_text(heat, heat.value[index], kDigits)],
      ],
    };
  }
  const end = series.stroke === "bars" || series.stroke === "bands" ? series.x_end?.[index] : undefined;
  const x = series.x[index], name = name_on(panel.x, x);
  const lines: [string, string][] = [];
  if (name === undefined)
    lines.push([x_name, written(x, kDigits) + (end === undefined ? "" : ` to ${written(end, kDigits)}`)]);
  if (series.stroke !== "rules" && series.stroke !== "bands") {
    const error = series.error?.[index];
    const plus_minus = typeof error === "number" ? ` \u00b1 ${written(error, 2)}` : "";
    lines.push([y_name, written(series.y[index], kDigits) + plus_minus]);
  }
  return { head: [name, series.labels?.[index]].filter(Boolean).join(": "), series: series.name ?? "", lines };
}

export function spoken(facts: Facts): string {
  return [facts.head, facts.series, ...facts.lines.map(([name, value]) => `${name} ${value}`)].filter(Boolean).join(", ");
}
