// A picture behind the series, drawn once for light (white to dark) and once for dark (dark to light); style.css
// shows one of them.
import { drawn, element } from "./dom";
import type { Heat } from "./document";
import { written } from "./numbers";

type Colour = [number, number, number];

// Ends and middle of the ramps; style.css has the same for the key.
const kRamps: Record<"light" | "dark", [Colour, Colour, Colour]> = {
  light: [[255, 255, 255], [86, 150, 198], [8, 37, 74]],
  dark: [[26, 30, 36], [45, 111, 163], [222, 240, 252]],
};

export const ramp_stop = (theme: "light" | "dark", i: 0 | 1 | 2): string => `rgb(${kRamps[theme][i].join(" ")})`;

function colour_at(share: number, ramp: [Colour, Colour, Colour]): Colour {
  const t = 2 * Math.min(1, Math.max(0, share || 0));
  const [from, to] = t < 1 ? [ramp[0], ramp[1]] : [ramp[1], ramp[2]];
  const part = t < 1 ? t : t - 1;
  return [0, 1, 2].map((c) => Math.round(from[c]! + part * (to[c]! - from[c]!))) as Colour;
}

function picture(heat: Heat, theme: "light" | "dark"): string {
  const canvas = element("canvas", { width: heat.columns, height: heat.rows });
  const context = canvas.getContext("2d")!;
  const pixels = context.createImageData(heat.columns, heat.rows);
  for (let row = 0; row < heat.rows; ++row)
    for (let column = 0; column < heat.columns; ++column) {
      const at = 4 * ((heat.rows - 1 - row) * heat.columns + column);
      pixels.data.set([...colour_at(heat.value[row * heat.columns + column]!, kRamps[theme]), 255], at);
    }
  context.putImageData(pixels, 0, 0);
  return canvas.toDataURL();
}

const pictures = new WeakMap<Heat, Record<"light" | "dark", string>>();

export function heat_images(heat: Heat, frame: { x: number; y: number; width: number; height: number }): SVGGElement {
  if (!pictures.has(heat)) pictures.set(heat, { light: picture(heat, "light"), dark: picture(heat, "dark") });
  const made = pictures.get(heat)!;
  return drawn("g", {}, ...(["light", "dark"] as const).map((theme) =>
    drawn("image", {
      ...frame, class: `heat-${theme}`, href: made[theme], preserveAspectRatio: "none", style: "image-rendering: pixelated",
    })));
}

// What a value stands for (HeatScale of include/selfnorm/report/figure.h); counts are whole.
export function amount(heat: Heat, value: number | null | undefined): number | null {
  if (typeof value !== "number") return null;
  const most = heat.most ?? 1;
  if (heat.scale === "root") return value * value * most;
  return heat.scale === "logarithm" ? Math.round(Math.expm1(value * Math.log1p(most))) : value * most;
}

// Densities end at a quantile of theirs, and the darkest stands for all above; counts are never cut.
const is_cut = (heat: Heat, value: number | null | undefined): boolean =>
  heat.scale === "root" && typeof value === "number" && value >= 1;

export const amount_text = (heat: Heat, value: number | null | undefined, digits?: number): string =>
  `${written(amount(heat, value), digits)}${is_cut(heat, value) ? " or more" : ""}`;

export interface HeatKey {
  middle: string; // what the middle of the ramp stands for; "": one of its ends
  most: string;
  label: string;
}

export function key_of(heat: Heat): HeatKey {
  const most = heat.most ?? 1, middle = amount(heat, 0.5)!;
  return {
    middle: middle > 0 && middle < most ? written(middle) : "",
    most: heat.value.some((value) => is_cut(heat, value)) ? amount_text(heat, 1) : written(most),
    label: heat.label ?? "",
  };
}

export function heat_key(heat: Heat): HTMLElement {
  const { middle, most, label } = key_of(heat);
  const ramp = element("span", { class: "ramp" });
  if (middle) ramp.append(element("span", { class: "middle" }, middle));
  return element("p", { class: middle ? "heat-key marked" : "heat-key" }, element("span", { class: "least" }, "0"), ramp,
    element("span", { class: "most" }, most), element("span", { class: "heat-label" }, label));
}
