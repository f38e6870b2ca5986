// A figure as a file of its own: title, legend and panels as they are on the screen, colours and fonts in it.
import { drawn, element } from "./dom";
import { ramp_stop } from "./heat";
import { fitted, kFont, lines_of, text_width, words } from "./lettering";

const kEdge = 16, kLine = 20;
const kTitle = `600 16px ${kFont}`, kPanelTitle = `600 13px ${kFont}`, kText = `13px ${kFont}`;

// Variables of the page become the values that they have now; what is not shown goes.
function resolve(root: Element): void {
  const values = getComputedStyle(document.documentElement);
  const ink = values.getPropertyValue("--ink").trim();
  const hidden = document.documentElement.dataset.theme === "dark" ? ".heat-light" : ".heat-dark";
  root.querySelectorAll(hidden).forEach((node) => node.remove());
  for (const node of [root, ...root.querySelectorAll("*")])
    for (const { name, value } of [...node.attributes])
      if (/var\(|currentColor/i.test(value))
        node.setAttribute(name, value.replace(/currentColor/gi, ink)
          .replace(/var\((--[\w-]+)\)/g, (_, variable) => values.getPropertyValue(variable).trim()));
}

function placed(svg: SVGSVGElement, x: number, y: number): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  copy.setAttribute("x", String(x));
  copy.setAttribute("y", String(y));
  return copy;
}

function legend_part(figure: HTMLElement, picture: SVGSVGElement, top: number, width: number): number {
  let x = kEdge, y = top;
  for (const entry of figure.querySelectorAll(".legend button[aria-pressed=true]")) {
    const name = fitted(entry.querySelector("span")?.textContent ?? "", kText, width - 2 * kEdge - 36);
    const room = 36 + text_width(name, kText) + 18;
    if (x > kEdge && x + room > width - kEdge) [x, y] = [kEdge, y + kLine];
    picture.append(placed(entry.querySelector("svg")!, x, y), words(name, { x: x + 36, y: y + 11 }));
    x += room;
  }
  return figure.querySelector(".legend button[aria-pressed=true]") ? y + kLine + 6 : top;
}

function ramp(): SVGDefsElement {
  const theme = document.documentElement.dataset.theme === "dark" ? "dark" : "light";
  const stops = ([0, 1, 2] as const).map((i) => drawn("stop", { offset: i / 2, "stop-color": ramp_stop(theme, i) }));
  return drawn("defs", {}, drawn("linearGradient", { id: "ramp" }, ...stops));
}

// The label has a line of its own where it would not fit; what the key is high.
function key_part(key: Element, picture: SVGSVGElement, place: { x: number; y: number; width: number }): number {
  const { x, y, width } = place;
  const text = (kind: string): string => key.querySelector(`.${kind}`)?.textContent ?? "";
  const most = text("most"), label = fitted(text("heat-label"), kText, width), after = x + 172 + text_width(most, kText);
  const is_one_line = after + text_width(label, kText) <= x + width;
  picture.append(words(text("least"), { x, y: y + 11 }),
    drawn("rect", { x: x + 16, y, width: 140, height: 12, fill: "url(#ramp)", stroke: "var(--line)" }),
    words(most, { x: x + 164, y: y + 11 }),
    words(label, is_one_line ? { x: after, y: y + 11 } : { x, y: y + 11 + kLine }));
  return (is_one_line ? 1 : 2) * kLine + 4;
}

function panel_part(panel: Element, picture: SVGSVGElement, x_shift: number, y_shift: number): void {
  const place = (kind: string): { node: Element; x: number; y: number; width: number } | undefined => {
    const node = panel.querySelector(kind), box = node?.getBoundingClientRect();
    return node && box ? { node, x: box.left + x_shift, y: box.top + y_shift, width: box.width } : undefined;
  };
  const title = place(".panel-title"), plot = place("svg.drawing"), key = place(".heat-key");
  if (title) {
    const text = fitted(title.node.textContent ?? "", kPanelTitle, title.width);
    picture.append(words(text, { x: title.x, y: title.y + 14, "font-weight": 600 }));
  }
  if (plot) picture.append(placed(plot.node as SVGSVGElement, plot.x, plot.y));
  if (key) key_part(key.node, picture, key);
}

export function svg_picture(figure: HTMLElement): SVGSVGElement {
  const panels = figure.querySelector<HTMLElement>(".panels")!;
  const origin = panels.getBoundingClientRect();
  const width = Math.ceil(origin.width) + 2 * kEdge;
  const picture = drawn("svg", { xmlns: "http://www.w3.org/2000/svg" });
  const background = picture.appendChild(drawn("rect", { width: "100%", height: "100%", fill: "var(--surface)" }));
  let top = kEdge;
  for (const line of lines_of(figure.querySelector("h3")!.textContent ?? "", kTitle, width - 2 * kEdge)) {
    picture.append(words(line, { x: kEdge, y: top + 14, "font-size": 16, "font-weight": 600 }));
    top += 22;
  }
  top = legend_part(figure, picture, top + 6, width);
  if (figure.querySelector(".heat-key")) picture.append(ramp());
  const key = figure.querySelector(":scope > .heat-key");
  if (key) top += key_part(key, picture, { x: kEdge, y: top, width: width - 2 * kEdge });
  for (const panel of panels.querySelectorAll(".panel"))
    panel_part(panel, picture, kEdge - origin.left, top - origin.top);
  const height = Math.ceil(top + origin.height + kEdge);
  background.setAttribute("height", String(height));
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
    picture.setAttribute(name, String(value));
  resolve(picture);
  return picture;
}

// Characters that XML cannot hold, of labels and ticks too, are left out.
export function svg_file(picture: SVGSVGElement): Blob {
  const text = new XMLSerializer().serializeToString(picture);
  return new Blob([text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")], { type: "image/svg+xml" });
}

// Two pixels of the file are one of the screen.
export async function png_file(picture: SVGSVGElement): Promise<Blob> {
  const address = URL.createObjectURL(svg_file(picture));
  try {
    const image = element("img", { src: address, alt: "" });
    await image.decode();
    const { width, height } = picture.viewBox.baseVal;
    const canvas = element("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) =>
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("the picture could not be written as PNG")))));
  } finally {
    URL.revokeObjectURL(address);
  }
}
