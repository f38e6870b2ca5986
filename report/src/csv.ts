// Comma-separated values by RFC 4180. Texts that a spreadsheet would take for a formula get a leading apostrophe;
// numbers, with their error or a percent sign, are none.
import type { Axis, Cell, Figure, Table } from "./document";
import { amount } from "./heat";

const kNumber = String.raw`(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*%?`;
const is_plain_number = new RegExp(String.raw`^[+-]?${kNumber}(?:\s*(?:\+-|\u00b1)\s*${kNumber})?$`, "i");

function field(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number") return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) && !is_plain_number.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv_text(columns: string[], rows: Cell[][]): string {
  return [columns, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

// Every number of a figure, a row a point or a cell of heat; columns that nothing has are left out.
export function figure_table(figure: Figure): Pick<Table, "columns" | "rows"> {
  const first = figure.panels[0];
  const same = (along: "x" | "y"): string =>
    figure.panels.every((panel) => panel[along].label === first?.[along].label) ? first?.[along].label || along : along;
  const columns = ["panel", "series", "label", same("x"), `${same("x")}, end`, same("y"), `error of ${same("y")}`,
    figure.panels.find((panel) => panel.heat)?.heat?.label || "value"];
  const rows: Cell[][] = [];
  figure.panels.forEach((panel, p) => {
    const title = panel.title || (figure.panels.length > 1 ? String(p + 1) : null);
    for (const series of panel.series ?? [])
      series.x.forEach((x, i) => {
        const upright = series.stroke === "rules" || series.stroke === "bands";
        const name = typeof x === "number" ? panel.x.ticks?.[x - 1] : undefined;
        rows.push([title, series.name || null, series.labels?.[i] ?? null, name ?? x, series.x_end?.[i] ?? null,
          upright ? null : series.y[i] ?? null, series.error?.[i] ?? null, null]);
      });
    const heat = panel.heat;
    if (!heat) return;
    const middle = ({ low = 0, high = 1, logarithmic }: Axis, i: number, n: number): number => {
      const share = (i + 0.5) / n;
      return logarithmic ? low ** (1 - share) * high ** share : low + share * (high - low);
    };
    heat.value.forEach((value, i) => {
      const column = i % heat.columns, row = Math.floor(i / heat.columns);
      rows.push([title, null, null, middle(panel.x, column, heat.columns), null,
        middle(panel.y, row, heat.rows), null,
        amount(heat, value)]);
    });
  });
  const used = columns.map((_, c) => c === 3 || c === 5 || rows.some((row) => row[c] !== null));
  return { columns: columns.filter((_, c) => used[c]), rows: rows.map((row) => row.filter((_, c) => used[c])) };
}
