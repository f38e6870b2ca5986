// What is near a place of a plot, and what comes next to it: points, bars, rules, bands and cells of heat.
import type { Panel, Series } from "./document";
import { columns_of } from "./marks";
import type { Drawing } from "./plot";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

// A thing that can be pointed at; without a series it is a cell of the heat. Pixels of the drawing.
export interface Spot {
  series?: Series;
  index: number;
  x: number;
  y: number;
  box?: Box;
}

const kReach = 36; // pixels from the pointer to a point
const kRuleReach = 4;

const is_point = (series: Series): boolean => !["bars", "rules", "bands"].includes(series.stroke);

export class Spots {
  readonly tracks: Spot[][] = []; // one a series, in its order
  private readonly areas: Spot[] = []; // rules, bars, bands
  private readonly points: Spot[] = []; // by x

  constructor(private readonly panel: Panel, shown: Series[], private readonly drawing: Drawing) {
    for (const series of shown) {
      const track = this.spots_of(series);
      if (track.length > 0) this.tracks.push(track);
      const into = is_point(series) ? this.points : this.areas;
      for (const spot of track) into.push(spot);
    }
    this.points.sort((a, b) => a.x - b.x);
    const rank = (spot: Spot): number => ["rules", "bars", "bands"].indexOf(spot.series!.stroke);
    this.areas.sort((a, b) => rank(a) - rank(b));
  }

  private spots_of(series: Series): Spot[] {
    const { frame, x, y } = this.drawing;
    const columns = columns_of(series, this.panel);
    const across = (v: number): number => Math.min(frame.right, Math.max(frame.left, x.apply(v)));
    const down = (v: number): number => Math.min(frame.bottom, Math.max(frame.top, y.apply(v)));
    const spots: Spot[] = [];
    for (let index = 0; index < series.x.length; ++index) {
      const px = x.apply(columns.x[index]!), py = y.apply(columns.y[index]!);
      if (is_point(series)) {
        if (px >= frame.left && px <= frame.right && py >= frame.top && py <= frame.bottom)
          spots.push({ series, index, x: px, y: py });
        continue;
      }
      const end = series.stroke === "rules" ? px : x.apply(columns.x_end[index]!);
      if (!(Math.max(px, end) >= frame.left && Math.min(px, end) <= frame.right)) continue;
      const from = across(columns.x[index]!), width = series.stroke === "rules" ? 0 : across(columns.x_end[index]!) - from;
      const bar = series.stroke === "bars";
      if (bar && Number.isNaN(py)) continue;
      const top = bar ? down(columns.y[index]!) : frame.top;
      const base = bar && !this.panel.y.logarithmic ? down(0) : frame.bottom;
      const box = { x: from, y: Math.min(top, base), width, height: Math.abs(base - top) };
      spots.push({ series, index, x: from + width / 2, y: top, box });
    }
    return spots;
  }

  // The nearest point; else the rule, bar, band or cell under the pointer.
  at(x: number, y: number): Spot | undefined {
    const { frame } = this.drawing;
    if (x < frame.left - 8 || x > frame.right + 8 || y < frame.top - 8 || y > frame.bottom + 8) return undefined;
    return this.nearest_point(x, y) ?? this.area(x, y) ?? this.cell_at(x, y);
  }

  private nearest_point(x: number, y: number): Spot | undefined {
    let low = 0, high = this.points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.points[middle]!.x < x) low = middle + 1;
      else high = middle;
    }
    let best: Spot | undefined, least = this.panel.heat ? 8 : kReach;
    const visit = (from: number, step: 1 | -1): void => {
      for (let i = from; i >= 0 && i < this.points.length; i += step) {
        const spot = this.points[i]!;
        if (Math.abs(spot.x - x) >= least) return;
        const distance = Math.hypot(spot.x - x, spot.y - y);
        if (distance < least) [best, least] = [spot, distance];
      }
    };
    visit(low, 1);
    visit(low - 1, -1);
    return best;
  }

  private area(x: number, y: number): Spot | undefined {
    let best: Spot | undefined;
    for (const spot of this.areas) {
      const { series, box } = spot;
      const reach = series!.stroke === "rules" ? kRuleReach : 0;
      if (x < box!.x - reach || x > box!.x + box!.width + reach) continue;
      if (best && best.series!.stroke !== series!.stroke) break;
      if (!best || Math.abs(spot.y - y) < Math.abs(best.y - y)) best = spot;
    }
    return best;
  }

  // The nearest: points lie on the edges, too.
  cell_at(x: number, y: number): Spot | undefined {
    const { frame } = this.drawing, heat = this.panel.heat;
    if (!heat) return undefined;
    const place = (share: number, count: number): number => Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    return this.cell(place((x - frame.left) / (frame.right - frame.left), heat.columns),
      place((frame.bottom - y) / (frame.bottom - frame.top), heat.rows));
  }

  cell(column: number, row: number): Spot | undefined {
    const { frame } = this.drawing, heat = this.panel.heat;
    if (!heat || column < 0 || row < 0 || column >= heat.columns || row >= heat.rows) return undefined;
    const width = (frame.right - frame.left) / heat.columns, height = (frame.bottom - frame.top) / heat.rows;
    const box = { x: frame.left + column * width, y: frame.bottom - (row + 1) * height, width, height };
    return { index: row * heat.columns + column, x: box.x + width / 2, y: box.y + height / 2, box };
  }
}
