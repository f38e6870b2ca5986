// The names of the series of a figure, as buttons that show and hide them in all its panels.
import * as Plot from "@observablehq/plot";
import type { Figure, Panel, Series, Stroke } from "./document";
import { button, element } from "./dom";
import { marks_of } from "./marks";
import { standing_alone } from "./plot";
import type { Style } from "./strokes";

const kWide = 30, kHigh = 14;

// Lines go through, with one mark in the middle.
function sample_of(stroke: Stroke): Pick<Series, "x" | "y" | "x_end"> {
  if (stroke === "bars" || stroke === "bands") return { x: [0.15], x_end: [0.85], y: [1] };
  if (stroke === "region") return { x: [0.15, 0.85, 0.85, 0.15], y: [0.05, 0.05, 0.95, 0.95] };
  if (stroke === "rules" || stroke === "points" || stroke === "marks") return { x: [0.5], y: [0.5] };
  return { x: [-0.5, 0.5, 1.5], y: [0.5, 0.5, 0.5] };
}

// A piece of the series, drawn by the marks of the plots themselves.
function swatch(series: Series, style: Style): SVGSVGElement {
  const sample: Series = { stroke: series.stroke === "points" ? "marks" : series.stroke, ...sample_of(series.stroke) };
  const panel: Panel = { x: {}, y: {} };
  const svg = Plot.plot({
    width: kWide, height: kHigh, margin: 0, axis: null, x: { domain: [0, 1] }, y: { domain: [0, 1] },
    style: { background: "none" }, marks: [marks_of(sample, panel, style, [[0, 1], [0, 1]])],
  }) as SVGSVGElement;
  standing_alone(svg, "swatch");
  return svg;
}

// `changed` is called with the names that are hidden.
export function legend_of(
  figure: Figure, styles: Map<Series, Style>, changed: (hidden: Set<string>) => void,
): HTMLElement | undefined {
  const hidden = new Set<string>();
  const first = new Map<string, Series>();
  for (const panel of figure.panels)
    for (const series of panel.series ?? [])
      if (series.name && !first.has(series.name)) first.set(series.name, series);
  if (first.size === 0) return undefined;
  const buttons = [...first].map(([name, series]) => {
    const toggle = button("", { "aria-pressed": "true" }, () => {
      if (!hidden.delete(name)) hidden.add(name);
      toggle.setAttribute("aria-pressed", String(!hidden.has(name)));
      changed(hidden);
    });
    toggle.append(swatch(series, styles.get(series)!), element("span", {}, name));
    return toggle;
  });
  return element("div", { class: "legend", role: "group", "aria-label": `Series of ${figure.title}` }, ...buttons);
}
