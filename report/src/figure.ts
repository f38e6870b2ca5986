// A figure: what to look for, legend, panels, and its numbers and pictures as files.
import { is_drawable, ranges_of } from "./axis";
import { csv_text, figure_table } from "./csv";
import type { Figure, Panel, Series } from "./document";
import { button, element, unique } from "./dom";
import { download, file_name } from "./download";
import { heat_key, key_of } from "./heat";
import { columns_of } from "./layout";
import { legend_of } from "./legend";
import { panel_drawing } from "./plot";
import { png_file, svg_file, svg_picture } from "./picture";
import { Pointing } from "./pointer";
import { styles_of, type Style } from "./strokes";
import { table_region } from "./table";

const kSettled = 120; // ms without a change of width, before plots are drawn again

class PanelView {
  readonly node: HTMLElement;
  readonly plot: HTMLElement;
  private width = 0;

  constructor(private readonly panel: Panel, title: string, private readonly styles: Map<Series, Style>) {
    const keys = "Arrow keys go from point to point, Escape leaves.";
    const label = `Plot: ${title}. ${keys}`;
    this.plot = element("div", { class: "plot", tabindex: 0, role: "application", "aria-label": label });
    this.node = element("div", { class: "panel" });
    if (panel.title) this.node.append(element("p", { class: "panel-title" }, panel.title));
    this.node.append(this.plot);
  }

  draw(width: number, hidden: Set<string>): void {
    this.width = width;
    const shown = (this.panel.series ?? []).filter((series) => !hidden.has(series.name ?? ""));
    const [x, y] = ranges_of(this.panel);
    if (!is_drawable(x, this.panel.x) || !is_drawable(y, this.panel.y)) {
      this.plot.replaceChildren(element("p", { class: "unable" },
        "This plot cannot be drawn: its numbers are too far from each other. The data and the CSV have them."));
      return;
    }
    const drawing = panel_drawing(this.panel, shown, this.styles, Math.max(160, Math.floor(width)));
    this.plot.replaceChildren(drawing.svg);
    new Pointing(this.plot, this.panel, shown, drawing, this.styles);
  }

  is_other_width(width: number): boolean {
    return width > 0 && Math.abs(width - this.width) >= 1;
  }
}

function actions_of(figure: Figure, node: HTMLElement, document_name: string): HTMLElement[] {
  const id = unique(`${node.id}-data`);
  const data = element("div", { id, hidden: true });
  const save = (extension: string, content: Blob): void =>
    download(file_name(document_name, figure.id, extension), content);
  const states = { "aria-expanded": "false", "aria-controls": id, "aria-label": `Data: ${figure.title}` };
  const numbers = button("Data", states, () => {
    if (!data.firstChild) data.append(table_region({ ...figure_table(figure), title: figure.title }));
    data.hidden = !data.hidden;
    numbers.setAttribute("aria-expanded", String(!data.hidden));
  });
  const files: [string, () => void][] = [
    ["CSV", () => {
      const { columns, rows } = figure_table(figure);
      save("csv", new Blob([csv_text(columns, rows)], { type: "text/csv" }));
    }],
    ["SVG", () => save("svg", svg_file(svg_picture(node)))],
    ["PNG", () => {
      failure.remove();
      void png_file(svg_picture(node)).then((blob) => save("png", blob), (error: Error) => {
        failure.textContent = `No PNG: ${error.message}.`;
        actions.append(failure);
      });
    }],
  ];
  const failure = element("p", { class: "failure", role: "alert" });
  const buttons = files.map(([name, pressed]) => button(name, { "aria-label": `${name}: ${figure.title}` }, pressed));
  const actions = element("div", { class: "actions" }, numbers, ...buttons);
  return [actions, data];
}

export interface FigureView {
  node: HTMLElement;
  draw(): void; // once the page has its width
}

export function figure_view(figure: Figure, document_name: string): FigureView {
  const id = unique(`figure-${figure.id}`);
  const title = unique(`${id}-title`);
  const columns = columns_of(figure.panels.length, figure.rows || 1);
  const styles = styles_of(figure);
  const first_heat = figure.panels.find((panel) => panel.heat)?.heat;
  const keys = new Set(figure.panels.flatMap(({ heat }) => (heat ? [JSON.stringify(key_of(heat))] : [])));
  const panels = figure.panels.map((panel) =>
    new PanelView(panel, [figure.title, panel.title].filter(Boolean).join(", "), styles));
  let hidden = new Set<string>();
  const grid = element("div", { class: "panels" }, ...panels.map((panel) => panel.node));
  if (keys.size > 1)
    figure.panels.forEach(({ heat }, i) => {
      if (heat) panels[i]!.node.append(heat_key(heat));
    });
  grid.style.setProperty("--columns", String(columns));
  grid.style.setProperty("--columns-narrow", String(Math.min(2, columns)));
  const redraw = (all: boolean): void => {
    const widths = panels.map((panel) => panel.plot.clientWidth);
    panels.forEach((panel, i) => {
      if (all || panel.is_other_width(widths[i]!)) panel.draw(widths[i]!, hidden);
    });
  };
  const legend = legend_of(figure, styles, (names) => {
    hidden = names;
    redraw(true);
  });
  const node = element("figure", { class: columns > 1 ? "part wide" : "part", id, "aria-labelledby": title },
    element("figcaption", {}, element("h3", { id: title }, figure.title),
      ...(figure.look ? [element("p", { class: "look" }, figure.look)] : [])));
  if (legend) node.append(legend);
  node.append(grid);
  if (keys.size === 1) node.append(heat_key(first_heat!));
  node.append(...actions_of(figure, node, document_name));
  let timer = 0;
  const observer = new ResizeObserver(() => {
    clearTimeout(timer);
    timer = window.setTimeout(() => redraw(false), kSettled);
  });
  return {
    node,
    draw: () => {
      redraw(false);
      observer.observe(grid);
    },
  };
}
