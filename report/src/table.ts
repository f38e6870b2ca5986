// Tables that sort by their headings: numbers and texts that begin with one by it, then other texts, what is missing
// last.
import type { Cell, Table } from "./document";
import { csv_text } from "./csv";
import { button, element, unique } from "./dom";
import { download, file_name } from "./download";
import { leading_number, written } from "./numbers";

const kShown = 100; // rows, until all are asked for
const kNarrow = 5; // columns that fit beside a figure,
const kShort = 60; // where no text is longer
const kWord = 24; // longer texts are broken into lines, of this length at least
const collator = new Intl.Collator("en", { numeric: true });

const number_of = (cell: Cell): number | undefined =>
  typeof cell === "string" ? leading_number(cell) : cell ?? undefined;

export function compared(a: Cell, b: Cell): number {
  const [x, y] = [number_of(a), number_of(b)];
  if (x !== undefined && y !== undefined && x !== y) return x < y ? -1 : 1;
  if ((x === undefined) !== (y === undefined)) return x !== undefined ? -1 : 1;
  if (typeof a === "string" && typeof b === "string") return collator.compare(a, b);
  return Number(typeof a === "string") - Number(typeof b === "string");
}

// A new order; rows that are equal stay as they were.
export function sorted(rows: Cell[][], column: number, descending: boolean): Cell[][] {
  const missing = (row: Cell[]): boolean => row[column] === null || row[column] === undefined;
  const there = rows.filter((row) => !missing(row));
  there.sort((a, b) => (descending ? -1 : 1) * compared(a[column]!, b[column]!));
  return [...there, ...rows.filter(missing)];
}

// What is empty says nothing of a column.
export function is_numeric(rows: Cell[][], column: number): boolean {
  const cells = rows.map((row) => row[column] ?? "").filter((cell) => cell !== "");
  return cells.length > 0 && cells.every((cell) => number_of(cell) !== undefined);
}

// The table alone, in a region of its own that scrolls; screen readers call it by its title.
export function table_region(table: Pick<Table, "columns" | "rows" | "title">): HTMLElement {
  let rows = table.rows, limit = kShown;
  let order: { column: number; descending: boolean } | undefined;
  const numeric = table.columns.map((_, c) => is_numeric(table.rows, c));
  const body = element("tbody");
  const more = button("", { class: "more" }, () => {
    limit = Infinity;
    fill();
  });
  const on_paper = element("p", { class: "on-paper" });
  const fill = (): void => {
    body.replaceChildren(...rows.slice(0, limit).map((row) => element("tr", {}, ...table.columns.map((_, c) => {
      const cell = row[c] ?? null;
      const kind = numeric[c] ? "number" : typeof cell === "string" && cell.length > kWord ? "long" : undefined;
      return element("td", { class: kind }, typeof cell === "string" ? cell : written(cell));
    }))));
    if (rows.length === 0) body.append(element("tr", {}, element("td", { colspan: table.columns.length }, "No rows")));
    more.hidden = on_paper.hidden = rows.length <= limit;
    on_paper.textContent = `${written(limit)} of ${written(rows.length)} rows; the CSV has all`;
    more.textContent = `Show all ${written(rows.length)} rows`;
  };
  const headings = table.columns.map((text, column) => {
    const heading = element("th", { scope: "col", class: numeric[column] ? "number" : undefined });
    heading.append(button(text || "\u2013", {}, () => {
      order = { column, descending: order?.column === column && !order.descending };
      rows = sorted(table.rows, column, order.descending);
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
      fill();
    }));
    return heading;
  });
  fill();
  const grid = element("table", { "aria-label": table.title }, element("thead", {}, element("tr", {}, ...headings)), body);
  return element("div", { class: "tabular" },
    element("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `Rows: ${table.title}` }, grid), more, on_paper);
}

export function table_part(table: Table, document_name: string): HTMLElement {
  const id = unique(`table-${table.id}`);
  const has_long = table.rows.some((row) => row.some((cell) => typeof cell === "string" && cell.length > kShort));
  const kind = table.columns.length > kNarrow || has_long ? "part wide" : "part";
  const title = unique(`${id}-title`);
  const part = element("article", { class: kind, id, "aria-labelledby": title },
    element("h3", { id: title }, table.title));
  if (table.look) part.append(element("p", { class: "look" }, table.look));
  part.append(table_region(table));
  part.append(element("div", { class: "actions" }, button("CSV", { "aria-label": `CSV: ${table.title}` }, () => {
    const content = new Blob([csv_text(table.columns, table.rows)], { type: "text/csv" });
    download(file_name(document_name, table.id, "csv"), content);
  })));
  return part;
}
