// The names of the series of a figure, as buttons that show and hide them in all its panels.
import * as Plot from "@observablehq/plot";
import type { Figure, Panel, Series } from "./document";
import { button, element } from "./dom";
import { marks_of } from "./marks";
import type { Style } from "./strokes";

const kWide = 30, kHigh = 14;

// A piece of the series, drawn by the marks of the plots themselves.
function swatch(series: Series, style: Style): SVGSVGElement {
  const outer = ["line", "dashed", "line_points", "dashed_points"].includes(series.stroke);
  const area = ["bars", "bands", "region"].includes(series.stroke);
  const sample: Series = area
    ? { stroke: series.stroke === "bands" ? "bands" : "bars", x: [0.15], x_end: [0.85], y: [1] }
    : { stroke: series.stroke, x: outer ? [-0.5, 0.5, 1.5] : [0.5], y: outer ? [0.5, 0.5, 0.5] : [0.5] };
  const panel: Panel = { x: {}, y: {} };
  const svg = Plot.plot({
    width: kWide, height: kHigh, margin: 0, axis: null, x: { domain: [0, 1] }, y: { domain: [0, 1] },
    style: { background: "none" }, marks: [marks_of(sample, panel, style, [[0, 1], [0, 1]])],
  }) as SVGSVGElement;
  svg.setAttribute("aria-hidden", "true");
  return svg;
}

// `changed` is called with the names that are hidden.
export function legend_of(figure: Figure, styles: Map<Series, Style>, changed: (hidden: Set<string>) => void): HTMLElement | undefined {
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
  return element("div", { class: "legend", role: "group", "aria-label": "Series shown" }, ...buttons);
}
