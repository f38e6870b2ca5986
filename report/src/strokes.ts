// How series are told apart: colour (Okabe & Ito, "Color universal design" (2008), then grey and wine; style.css has
// them for light and dark), and the shape of marks and dashes, so that colour is not the only difference.
import type { Figure, Numbers, Series, Stroke } from "./document";

export const kColours = 9;
const kGrey = 7; // of references: nothing has it that did not ask for it
const kSymbols = ["circle", "square", "triangle", "diamond", "star", "wye", "cross"] as const;
const kShapes = kSymbols.length;
// Nearly whole: dashed lines mean bounds and theory.
const kDashes = ["", "14 3", "8 3 2 3", "3 2", "22 3", "14 3 2 3", "14 3 2 3 2 3"];
const kOpenDashes = ["6 5", "2 4", "10 5 2 5", "12 8", "6 5 2 5", "2 8", "10 5 2 5 2 5"];
const kRuleDashes = ["5 3", ...kOpenDashes.slice(1)];

export interface Style {
  colour: string; // CSS
  dash: string; // "": none
  symbol: (typeof kSymbols)[number];
  opacity: number; // of the inside of a region: more, the further inside others it is
}

function dash_of(stroke: Stroke, shape: number): string {
  if (stroke === "line_points") return ""; // its marks differ
  const dashes = stroke === "rules" ? kRuleDashes : stroke === "line" ? kDashes : kOpenDashes;
  return dashes[shape]!;
}

// The n-th of the colours without grey.
function colour_of(place: number): number {
  const colour = place % (kColours - 1);
  return colour < kGrey ? colour : colour + 1;
}

// Looks that are taken, by stroke and colour: rules that differ in colour have one dash, others as many as there are.
class Shapes {
  private readonly taken = new Map<string, number[]>();

  next(stroke: Stroke, colour: number, rank: number): number {
    const kind = `${stroke} ${colour}`, used = this.taken.get(kind) ?? [];
    const first = stroke === "rules" ? 0 : rank % kShapes;
    const order = Array.from({ length: kShapes }, (_, i) => (first + i) % kShapes);
    const shape = order.find((one) => !used.includes(one)) ?? first;
    this.taken.set(kind, [...used, shape]);
    return shape;
  }
}

type Extent = [least: number, most: number];

function extent_of(values: Numbers): Extent {
  return values.reduce<Extent>(([least, most], v) => (v === null ? [least, most] : [Math.min(least, v), Math.max(most, v)]),
    [Infinity, -Infinity]);
}

// How many regions before it each region is inside of, one in the other; those of one colour count as such.
function depths_of(all: Series[]): Map<Series, number> {
  const depths = new Map<Series, number>();
  const regions = all.filter(({ stroke }) => stroke === "region").map((series) => ({
    series, extents: [extent_of(series.x), extent_of(series.y)] as const,
  }));
  regions.forEach(({ series, extents }, i) => {
    const around = regions.slice(0, i).filter((other) => other.series.colour === series.colour ||
      extents.every(([least, most], e) => other.extents[e]![0] <= least && most <= other.extents[e]![1]));
    depths.set(series, Math.max(0, ...around.map((other) => depths.get(other.series)! + 1)));
  });
  return depths;
}

// One name is one thing, in all panels of a figure; without a name it is the place in the panel.
export const key_of = (series: Series, place: number): string => series.name || `#${place}`;

export function styles_of(figure: Figure): Map<Series, Style> {
  const places = new Map<string, number>(); // among all names
  const looks = new Map<string, Style>(); // of a name, a stroke and a colour
  const seen = new Map<string, number>(); // series of a stroke
  const shapes = new Shapes();
  const styles = new Map<Series, Style>();
  const is_unset = (all: Series[]): boolean => all.every((series) => !series.colour);
  const none_set = is_unset(figure.panels.flatMap((panel) => panel.series ?? []));
  for (const panel of figure.panels) {
    const all = panel.series ?? [];
    const depths = depths_of(all);
    const unset = none_set || (all.length > 1 && is_unset(all)); // then each has its own
    all.forEach((series, i) => {
      const key = key_of(series, i);
      if (!places.has(key)) places.set(key, places.size);
      const colour = unset ? colour_of(places.get(key)!) : (series.colour ?? 0) % kColours;
      const kind = `${series.stroke} ${colour} ${key}`;
      if (!looks.has(kind)) {
        const rank = seen.get(series.stroke) ?? 0;
        seen.set(series.stroke, rank + 1);
        const shape = shapes.next(series.stroke, colour, rank);
        looks.set(kind, {
          colour: `var(--series-${colour})`,
          dash: dash_of(series.stroke, shape),
          symbol: kSymbols[shape]!,
          opacity: Math.min(0.5, 0.16 + 0.1 * (depths.get(series) ?? 0)),
        });
      }
      styles.set(series, looks.get(kind)!);
    });
  }
  return styles;
}
