// Series of many points, drawn as one path each: a page of 100,000 elements is slow, and so is a line that goes up
// and down a hundred times within a pixel.
import type { Range } from "./axis";
import { drawn } from "./dom";

export const kMany = 5000;
const kColumns = 800; // about the pixels of a plot

export type Geometry = (x: (v: number) => number, y: (v: number) => number) => string;

// A mark of Plot that is one path, from the scales of the plot.
export function path(attributes: Record<string, string | number>, geometry: Geometry) {
  return (_index: number[], scales: { x?: unknown; y?: unknown }): SVGElement =>
    drawn("path", { ...attributes, d: geometry(scales.x as (v: number) => number, scales.y as (v: number) => number) });
}

// Places of the first, the least, the greatest and the last of neighbours that share a column of the plot: their line
// looks as that of all. Points that are not finite stay, and interrupt.
export function line_places(x: Float64Array, y: Float64Array, [low, high]: Range, logarithmic: boolean): number[] {
  const scale = logarithmic ? Math.log : Number;
  const column = (i: number): number => Math.floor((kColumns * (scale(x[i]!) - scale(low))) / (scale(high) - scale(low)));
  const kept: number[] = [];
  for (let i = 0; i < x.length; ) {
    const here = column(i);
    let least = i, most = i, end = i + 1;
    for (; end < x.length && column(end) === here && !Number.isNaN(y[end]!) && !Number.isNaN(y[i]!); ++end) {
      if (y[end]! < y[least]!) least = end;
      if (y[end]! > y[most]!) most = end;
    }
    kept.push(...[...new Set([i, least, most, end - 1])].sort((a, b) => a - b));
    i = end;
  }
  return kept;
}

// Squares about points of the drawing on a grid of half pixels, each once.
export function squares(points: Iterable<[number, number]>, size: number): string {
  const places = new Set<number>();
  const parts: string[] = [];
  for (const [x, y] of points) {
    const column = Math.round(2 * x), row = Math.round(2 * y), place = column * 16384 + row;
    if (places.has(place)) continue;
    places.add(place);
    parts.push(`M${(column - size) / 2} ${(row - size) / 2}h${size}v${size}h${-size}z`);
  }
  return parts.join("");
}

// Upright bars [x, top, bottom]; those within a pixel are one.
export function uprights(bars: Iterable<[number, number, number]>): string {
  const columns = new Map<number, [number, number]>();
  for (const [x, top, bottom] of bars) {
    const place = Math.round(x), other = columns.get(place);
    columns.set(place, other ? [Math.min(top, other[0]), Math.max(bottom, other[1])] : [top, bottom]);
  }
  return [...columns].map(([x, [top, bottom]]) => `M${x} ${bottom}V${top}`).join("");
}
