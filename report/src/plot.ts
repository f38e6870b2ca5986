// One panel as an SVG, as wide as it is told, with what is needed to find things in it.
import * as Plot from "@observablehq/plot";
import { ranges_of, ticks_of, type Range } from "./axis";
import type { Axis, Panel, Series } from "./document";
import { heat_images } from "./heat";
import { marks_of } from "./marks";
import { tick_texts } from "./numbers";
import type { Style } from "./strokes";

export interface Frame {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Scale {
  apply(value: number): number;
  invert(pixel: number): number;
}

export interface Drawing {
  svg: SVGSVGElement;
  width: number;
  height: number;
  frame: Frame;
  x: Scale;
  y: Scale;
}

const kLetter = 6.4; // pixels of a letter of the ticks, about
const kTilt = 0.6; // radians, of names that are longer than their place
const kTilted = 18; // pixels from one of them to the next
const kFont = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

const names_of = (axis: Axis, values: number[]): string[] =>
  axis.ticks?.length ? values.map((v) => axis.ticks![v - 1] ?? "") : tick_texts(values, axis.logarithmic ?? false);
const longest = (names: string[]): number => Math.max(1, ...names.map((name) => name.length));

// Names often differ at their end: the middle goes. Letters are code points.
export function shortened(name: string, letters: number): string {
  const all = [...name];
  if (all.length <= letters) return name;
  const end = Math.floor((letters - 1) / 2);
  return `${all.slice(0, letters - 1 - end).join("")}\u2026${all.slice(all.length - end).join("")}`;
}

// Names take the place of the label.
const label_of = (axis: Axis): string => (axis.ticks?.length ? "" : axis.label ?? "");

interface Layout {
  width: number;
  height: number;
  margin: { marginLeft: number; marginRight: number; marginTop: number; marginBottom: number };
  x_ticks: number[];
  y_ticks: number[];
  letters: number; // of the names below
  rotated: boolean;
}

function layout_of(panel: Panel, ranges: [Range, Range], width: number): Layout {
  let height = Math.min(380, Math.max(230, 0.58 * width));
  const y_ticks = ticks_of(panel.y, ranges[1], height / 45);
  const marginLeft = Math.min(0.3 * width, 16 + kLetter * longest(names_of(panel.y, y_ticks)));
  const inner = width - marginLeft - 16;
  const all = ticks_of(panel.x, ranges[0], inner / 70);
  const stride = Math.ceil((kTilted * all.length) / inner);
  const x_ticks = all.filter((_, i) => i % stride === 0);
  const longest_name = longest(names_of(panel.x, x_ticks));
  const rotated = kLetter * (longest_name + 1) * x_ticks.length > inner;
  const room = marginLeft + inner / (2 * all.length); // left of the first
  const letters = rotated ? Math.min(18, Math.max(6, Math.floor(room / (kLetter * Math.cos(kTilt))))) : 40;
  const below = rotated ? 16 + Math.sin(kTilt) * kLetter * Math.min(letters, longest_name) : 20;
  const marginBottom = below + (label_of(panel.x) ? 24 : 4);
  const margin = { marginLeft, marginRight: 16, marginTop: panel.y.label ? 30 : 12, marginBottom };
  if (panel.equal_units) {
    const ratio = (ranges[1][1] - ranges[1][0]) / (ranges[0][1] - ranges[0][0]);
    const tall = Math.min(460, inner * ratio);
    margin.marginRight += inner - tall / ratio;
    height = tall + margin.marginTop + margin.marginBottom;
  }
  return { width, height: Math.round(height), margin, x_ticks, y_ticks, letters, rotated };
}

function axes_of(panel: Panel, layout: Layout): Plot.Markish[] {
  const { x_ticks, y_ticks, rotated, margin } = layout;
  const grid = { stroke: "var(--grid)", strokeOpacity: 1 };
  const shown = { color: "var(--quiet)", fontSize: 11, fontFamily: kFont, tickSize: 4, label: null };
  const label = { fill: "var(--quiet)", fontSize: 12, fontFamily: kFont, clip: false };
  const marks: Plot.Markish[] = [
    panel.heat ? null : Plot.gridX(x_ticks, grid),
    panel.heat ? null : Plot.gridY(y_ticks, grid),
    Plot.axisX(x_ticks, {
      ...shown, tickRotate: rotated ? (-kTilt * 180) / Math.PI : 0, textAnchor: rotated ? "end" : "middle",
      text: names_of(panel.x, x_ticks).map((name) => shortened(name, layout.letters)),
    }),
    Plot.axisY(y_ticks, { ...shown, text: names_of(panel.y, y_ticks) }),
  ];
  const letters = Math.floor(layout.width / kLetter);
  if (panel.y.label)
    marks.push(Plot.text([shortened(panel.y.label, letters)],
      { ...label, frameAnchor: "top-left", dx: 4 - margin.marginLeft, dy: -26 }));
  if (label_of(panel.x))
    marks.push(Plot.text([shortened(label_of(panel.x), letters)],
      { ...label, frameAnchor: "bottom", dy: margin.marginBottom - 4 }));
  return marks;
}

// Without the style sheet that Plot puts into every drawing: style.css has it.
export function standing_alone(svg: SVGSVGElement, kind: string): void {
  svg.querySelector("style")?.remove();
  svg.setAttribute("class", kind);
  svg.setAttribute("aria-hidden", "true");
}

const drawn_first = (series: Series): number => ["bands", "region", "bars"].indexOf(series.stroke) + 1 || 4;

export function panel_drawing(panel: Panel, shown: Series[], styles: Map<Series, Style>, width: number): Drawing {
  const ranges = ranges_of(panel);
  const layout = layout_of(panel, ranges, width);
  const frame: Frame = {
    left: layout.margin.marginLeft, top: layout.margin.marginTop,
    right: width - layout.margin.marginRight, bottom: layout.height - layout.margin.marginBottom,
  };
  const place = { x: frame.left, y: frame.top, width: frame.right - frame.left, height: frame.bottom - frame.top };
  const scale = (axis: Axis, domain: Range): Plot.ScaleOptions => ({ type: axis.logarithmic ? "log" : "linear", domain });
  const ordered = [...shown].sort((a, b) => drawn_first(a) - drawn_first(b));
  const heat = panel.heat;
  const svg = Plot.plot({
    width, height: layout.height, ...layout.margin,
    x: scale(panel.x, ranges[0]), y: scale(panel.y, ranges[1]),
    style: { background: "none", color: "var(--ink)", fontFamily: kFont, overflow: "visible" },
    marks: [
      heat ? () => heat_images(heat, place) : null,
      ...axes_of(panel, layout),
      Plot.frame({ stroke: "var(--line)" }),
      ...ordered.map((series) => marks_of(series, panel, styles.get(series)!, ranges)),
    ],
  }) as SVGSVGElement & Plot.Plot;
  standing_alone(svg, "drawing");
  return { svg, width, height: layout.height, frame, x: svg.scale("x") as Scale, y: svg.scale("y") as Scale };
}
