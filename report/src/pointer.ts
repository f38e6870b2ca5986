// Pointing at a plot, by pointer or by keyboard: a tooltip, a highlighted mark, and words for screen readers.
import type { Panel, Series } from "./document";
import { drawn, element } from "./dom";
import { facts_of, spoken, type Facts } from "./facts";
import { Spots, type Spot } from "./hover";
import { radius } from "./marks";
import type { Drawing } from "./plot";
import type { Style } from "./strokes";

export const live = element("div", { class: "unseen", "aria-live": "polite", id: "live" });

// Across and up.
const kSteps = new Map<string, [number, number]>([
  ["ArrowLeft", [-1, 0]], ["ArrowRight", [1, 0]], ["ArrowUp", [0, 1]], ["ArrowDown", [0, -1]],
  ["Home", [-Infinity, 0]], ["End", [Infinity, 0]],
]);
const kAway = 14; // pixels of the tooltip from the spot

function tooltip_content(facts: Facts, colour: string | undefined): Node[] {
  const nodes: Node[] = [];
  if (facts.head) nodes.push(element("strong", {}, facts.head));
  if (facts.series) {
    const dot = element("span", { class: "dot" });
    if (colour) dot.style.background = colour;
    nodes.push(element("span", { class: "of" }, dot, facts.series));
  }
  for (const [name, value] of facts.lines)
    nodes.push(element("span", { class: "fact" }, element("span", {}, name), element("b", {}, value)));
  return nodes;
}

function highlight(spot: Spot, drawing: Drawing): SVGElement {
  const { frame } = drawing;
  const line = { class: "highlight", stroke: "var(--ink)", "stroke-width": 2, fill: "none" };
  if (spot.box) return drawn("rect", { ...line, ...spot.box });
  return drawn("g", line,
    drawn("path", {
      d: `M${spot.x} ${frame.bottom}V${spot.y}H${frame.left}`, "stroke-width": 1, "stroke-dasharray": "2 3",
    }),
    drawn("circle", { cx: spot.x, cy: spot.y, r: radius(spot.series!) + 3.5 }));
}

export class Pointing {
  private spots?: Spots; // made when the plot is first pointed at
  private now?: Spot;
  private readonly over: SVGSVGElement; // a layer of its own: the drawing is not painted again
  private readonly tooltip = element("div", { class: "tooltip", hidden: true });

  constructor(private readonly place: HTMLElement, private readonly panel: Panel, private readonly shown: Series[],
              private readonly drawing: Drawing, private readonly styles: Map<Series, Style>) {
    const { svg, width, height } = drawing;
    this.over = drawn("svg", { class: "over", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
    place.append(this.tooltip);
    svg.addEventListener("pointermove", (event) => this.point(event));
    svg.addEventListener("pointerdown", (event) => this.point(event));
    svg.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") this.leave();
    });
    place.onkeydown = (event) => this.key(event);
    place.onblur = () => this.leave();
  }

  private all(): Spots {
    return (this.spots ??= new Spots(this.panel, this.shown, this.drawing));
  }

  private point(event: PointerEvent): void {
    const box = this.drawing.svg.getBoundingClientRect();
    const scale = this.drawing.width / box.width;
    const spot = this.all().at((event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
    if (spot) this.show(spot);
    else this.leave();
  }

  leave(): void {
    this.now = undefined;
    this.over.remove();
    this.tooltip.hidden = true;
  }

  private show(spot: Spot): Facts {
    const facts = facts_of(spot, this.panel, this.drawing);
    if (spot.series === this.now?.series && spot.index === this.now?.index) return facts;
    this.leave();
    this.now = spot;
    this.over.replaceChildren(highlight(spot, this.drawing));
    this.tooltip.before(this.over);
    this.tooltip.replaceChildren(...tooltip_content(facts, spot.series && this.styles.get(spot.series)?.colour));
    this.tooltip.hidden = false;
    this.put(spot.x, spot.y);
    return facts;
  }

  // Beside the spot, where there is room; else below or above it.
  private put(spot_x: number, spot_y: number): void {
    const { svg, width } = this.drawing;
    const shown = svg.getBoundingClientRect();
    const x = (spot_x * shown.width) / width, y = (spot_y * shown.width) / width;
    const { offsetWidth: wide, offsetHeight: high } = this.tooltip;
    const inside = (v: number, most: number): number => Math.min(Math.max(0, v), Math.max(0, most));
    const right = x + kAway + wide <= shown.width, left = x - kAway - wide >= 0;
    const beside = right || left;
    const below = y + kAway + high <= shown.height ? y + kAway : y - kAway - high;
    this.tooltip.style.left = `${right ? x + kAway : left ? x - kAway - wide : inside(x - wide / 2, shown.width - wide)}px`;
    this.tooltip.style.top = `${beside ? inside(y - high / 2, shown.height - high) : below}px`;
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      if (!this.now) this.place.blur();
      this.leave();
      live.textContent = "";
      return;
    }
    const next = event.ctrlKey || event.metaKey || event.altKey ? "other" : this.next(event.key);
    if (next === "other") return;
    event.preventDefault();
    if (next) live.textContent = spoken(this.show(next));
  }

  // Left and right along a series, up and down between series and to the heat, Home and End to the ends; in the heat,
  // from cell to cell and over its edge back to the series. The first key shows the first point.
  private next(key: string): Spot | undefined | "other" {
    const step = kSteps.get(key);
    if (!step) return "other";
    const [across, up] = step;
    const { tracks } = this.all();
    if (tracks.length === 0) return this.next_cell(across, up);
    if (!this.now) return tracks[0]![0];
    if (!this.now.series) return this.next_cell(across, up) ?? tracks[0]![0];
    const track = tracks.findIndex((one) => one[0]!.series === this.now?.series);
    if (this.panel.heat && (track < up || track - up >= tracks.length))
      return this.all().cell_at(this.now.x, this.now.y);
    if (up !== 0) {
      const other = tracks[(track - up + tracks.length) % tracks.length]!;
      const away = (spot: Spot): number => Math.abs(spot.x - this.now!.x);
      return other.reduce((best, spot) => (away(spot) < away(best) ? spot : best));
    }
    const along = tracks[track]!;
    const at = along.findIndex((spot) => spot.index === this.now!.index) + across;
    return along[Math.min(along.length - 1, Math.max(0, at))];
  }

  private next_cell(across: number, up: number): Spot | undefined {
    const heat = this.panel.heat;
    if (!heat) return undefined;
    if (!this.now) return this.all().cell(heat.columns >> 1, heat.rows >> 1);
    const column = Math.min(heat.columns - 1, Math.max(0, (this.now.index % heat.columns) + across));
    return this.all().cell(column, Math.floor(this.now.index / heat.columns) + up);
  }
}
