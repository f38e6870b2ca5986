// Text of pictures, which nothing breaks into lines or cuts by itself.
import { drawn, element } from "./dom";

export const kFont = "system-ui, sans-serif";

const measure = element("canvas").getContext("2d");

export function text_width(text: string, font: string): number {
  if (!measure) return 7 * text.length;
  measure.font = font;
  return measure.measureText(text).width;
}

// Cut with an ellipsis where it is wider than `width`: the longest start of code points that fits, by bisection.
export function fitted(text: string, font: string, width: number): string {
  if (text_width(text, font) <= width) return text;
  const letters = [...text], start = (count: number): string => `${letters.slice(0, count).join("")}\u2026`;
  let fits = 0, over = letters.length;
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (text_width(start(middle), font) <= width) fits = middle;
    else over = middle;
  }
  return start(fits);
}

export function lines_of(text: string, font: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length && text_width(longer, font) <= width) lines[lines.length - 1] = longer;
    else lines.push(fitted(word, font, width));
  }
  return lines;
}

export const words = (text: string, attributes: Record<string, string | number>): SVGTextElement =>
  drawn("text", { "font-family": kFont, "font-size": 13, fill: "var(--ink)", ...attributes }, text);
