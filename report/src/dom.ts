// Elements are made by calls, texts are text nodes: nothing of a document is ever read as markup.

type Child = Node | string;
type Attributes = Record<string, string | number | boolean | undefined>;

function filled<E extends Element>(node: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : String(value));
  node.append(...children);
  return node;
}

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

export function drawn<K extends keyof SVGElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

export function button(text: string, attributes: Attributes, pressed: () => void): HTMLButtonElement {
  const node = element("button", { type: "button", ...attributes }, text);
  node.addEventListener("click", pressed);
  return node;
}

const taken = new Map<string, number>();

// An id of the page that nothing else has: "figure-loss", then "figure-loss-2", ...
export function unique(text: string): string {
  const stem = text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "") || "part";
  const count = (taken.get(stem) ?? 0) + 1;
  taken.set(stem, count);
  return count === 1 ? stem : unique(`${stem}-${count}`);
}
