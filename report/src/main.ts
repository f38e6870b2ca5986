// The page: the document that lies in it as JSON, drawn.
import { card_list } from "./cards";
import type { Document, Section } from "./document";
import { element, unique } from "./dom";
import { figure_view, type FigureView } from "./figure";
import { live } from "./pointer";
import { table_part } from "./table";
import { theme_choice } from "./theme";

function read_document(): Document {
  const text = document.getElementById("data")?.textContent ?? "";
  const read: unknown = JSON.parse(text);
  if (typeof read !== "object" || read === null) throw new Error("its data are not an object");
  if ((read as Document).format !== 1) throw new Error("its data are of a format that this page does not know");
  return read as Document;
}

// A part that cannot be drawn says so in its place, and the rest of the page is there.
function tried<T>(title: string, make: () => T): T | HTMLElement {
  try {
    return make();
  } catch (error) {
    const reason = `its data are not complete (${(error as Error).message})`;
    return element("div", { class: "part note", role: "alert" }, `\u201c${title}\u201d cannot be drawn: ${reason}.`);
  }
}

const is_object = (value: unknown): boolean => typeof value === "object" && value !== null;

// The entries of a list that are what they should be; a note says so when others were left out.
class Lists {
  is_whole = true;

  of<T>(list: T[] | undefined, is_right: (entry: unknown) => boolean = is_object): T[] {
    const entries = Array.isArray(list) ? list.filter(is_right) : [];
    if (list !== undefined && entries.length !== list?.length) this.is_whole = false;
    return entries;
  }
}

function note_list(notes: string[]): HTMLElement {
  const id = unique("notes-title");
  return element("section", { class: "notes", "aria-labelledby": id }, element("h2", { id, class: "unseen" }, "Notes"),
    element("ul", {}, ...notes.map((note) => element("li", { class: "note" }, note))));
}

function header_of(report: Document): HTMLElement {
  const run = element("p", { class: "run" });
  if (report.command) run.append(element("code", {}, `selfnorm ${report.command}`));
  if (report.name && report.name !== report.title) run.append(element("span", {}, report.name));
  const title = element("h1", {}, report.title || report.name || "Report");
  return element("header", {}, element("div", {}, title, run), theme_choice());
}

function section_node(section: Section, name: string, lists: Lists, views: FigureView[]): HTMLElement {
  const id = unique(`section-${section.title}`), title = unique(`${id}-title`);
  const parts = element("div", { class: "parts" });
  for (const figure of lists.of(section.figures)) {
    const view = tried(figure.title, () => figure_view(figure, name));
    if (view instanceof HTMLElement) parts.append(view);
    else {
      views.push(view);
      parts.append(view.node);
    }
  }
  for (const table of lists.of(section.tables)) parts.append(tried(table.title, () => table_part(table, name)));
  return element("section", { id, "aria-labelledby": title }, element("h2", { id: title }, section.title), parts);
}

// Sections; of one section, its parts.
function contents_of(nodes: HTMLElement[]): HTMLElement {
  const targets = nodes.length > 1 ? nodes
    : nodes.flatMap((node) => [...node.querySelectorAll<HTMLElement>(".part[id]")]);
  const items = targets.map((node) =>
    element("li", {}, element("a", { href: `#${node.id}` }, node.querySelector("h2, h3")?.textContent ?? "")));
  return element("nav", { "aria-label": "Contents" }, element("ul", {}, ...items));
}

function footer_of(report: Document): HTMLElement {
  const maker = `Made by selfnorm${report.version ? ` ${report.version}` : ""}.`;
  return element("footer", {}, element("p", {}, `${maker} This file holds everything it shows and loads nothing. To print it or \
to keep it as PDF, use the print command of the browser: it prints in light colours, without buttons.`));
}

function show(report: Document, main: HTMLElement): void {
  document.title = `${report.title || report.name} \u2013 selfnorm`;
  const views: FigureView[] = [];
  const lists = new Lists();
  const notes = lists.of(report.notes, (note) => typeof note === "string"), cards = lists.of(report.cards);
  const sections = lists.of(report.sections).map((section) => section_node(section, report.name, lists, views));
  if (!lists.is_whole) notes.push("Parts of this report are missing: its data are not complete.");
  main.append(header_of(report));
  if (notes.length > 0) main.append(note_list(notes));
  if (cards.length > 0) main.append(card_list(cards));
  if (sections.length > 0) main.append(contents_of(sections));
  main.append(...sections, footer_of(report), live);
  for (const view of views) {
    const failure = tried(view.node.querySelector("h3")?.textContent ?? "", () => view.draw());
    if (failure instanceof HTMLElement) view.node.append(failure);
  }
}

const main = document.getElementById("report")!;
try {
  show(read_document(), main);
} catch (error) {
  main.replaceChildren(element("h1", {}, "This report cannot be shown"), element("p", { class: "note", role: "alert" },
    `The file is damaged or was made by another version (${(error as Error).message}). \
Make it again: selfnorm report RUN.`));
}
