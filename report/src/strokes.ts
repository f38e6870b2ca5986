// How series are told apart: colour (Okabe & Ito, "Color universal design" (2008), then grey and wine; style.css has
// them for light and dark), and the shape of marks and dashes, so that colour is not the only difference.
import type { Figure, Series, Stroke } from "./document";

export const kColours = 9;
const kSymbols = ["circle", "square", "triangle", "diamond", "star", "wye"] as const;
const kDashes = ["", "14 3", "8 3 2 3", "3 2"]; // nearly whole: dashed lines mean bounds and theory
const kOpenDashes = ["6 5", "2 4", "10 5 2 5", "12 8"];

export interface Style {
  colour: string; // CSS
  dash: string; // "": none
  symbol: (typeof kSymbols)[number];
}

function dash_of(stroke: Stroke, rank: number): string {
  if (stroke === "rules") return "5 3";
  if (stroke === "line_points") return ""; // its marks differ
  const dashes = stroke === "line" ? kDashes : kOpenDashes;
  return dashes[rank % dashes.length]!;
}

// One name is one thing, in all panels of a figure; without a name it is the place in the panel.
export const key_of = (series: Series, place: number): string => series.name || `#${place}`;

export function styles_of(figure: Figure): Map<Series, Style> {
  const places = new Map<string, number>(); // among all names
  const ranks = new Map<string, number>(); // among the names of the same stroke
  const seen = new Map<string, number>();
  const styles = new Map<Series, Style>();
  const is_unset = (all: Series[]): boolean => all.every((series) => !series.colour);
  const none_set = is_unset(figure.panels.flatMap((panel) => panel.series ?? []));
  for (const panel of figure.panels) {
    const all = panel.series ?? [];
    const unset = none_set || (all.length > 1 && is_unset(all)); // then each has its own
    all.forEach((series, i) => {
      const key = key_of(series, i);
      if (!places.has(key)) places.set(key, places.size);
      const kind = `${series.stroke} ${key}`;
      if (!ranks.has(kind)) {
        ranks.set(kind, seen.get(series.stroke) ?? 0);
        seen.set(series.stroke, ranks.get(kind)! + 1);
      }
      const colour = (unset ? places.get(key)! : series.colour ?? 0) % kColours;
      const rank = ranks.get(kind)!;
      styles.set(series, {
        colour: `var(--series-${colour})`,
        dash: dash_of(series.stroke, rank),
        symbol: kSymbols[rank % kSymbols.length]!,
      });
    });
  }
  return styles;
}
