// A figure as a file of its own: title, legend and panels as they are on the screen, colours and fonts in it.
import { drawn, element } from "./dom";
import { ramp_stop } from "./heat";
import { fitted, kFont, lines_of, text_width, words } from "./lettering";

const kEdge = 16, kLine = 20;
const kTitle = `600 16px ${kFont}`, kPanelTitle = `600 13px ${kFont}`, kText = `13px ${kFont}`;

// Names of colours of the system mean nothing elsewhere.
function colour_now(variable: string): string {
  const probe = element("span", { style: `color: var(${variable}); forced-color-adjust: none` });
  document.documentElement.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

// Variables of the page become the values that they have now; what is not shown goes.
function resolve(root: Element): void {
  const colours = new Map<string, string>();
  const colour_of = (variable: string): string => {
    if (!colours.has(variable)) colours.set(variable, colour_now(variable));
    return colours.get(variable)!;
  };
  const hidden = document.documentElement.dataset.theme === "dark" ? ".heat-light" : ".heat-dark";
  root.querySelectorAll(hidden).forEach((node) => node.remove());
  for (const node of [root, ...root.querySelectorAll("*")])
    for (const { name, value } of [...node.attributes])
      if (/var\(|currentColor/i.test(value))
        node.setAttribute(name, value.replace(/currentColor/gi, colour_of("--ink"))
          .replace(/var\((--[\w-]+)\)/g, (_, variable) => colour_of(variable)));
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

const kRamp = 140, kMark = 14; // pixels: how wide a ramp is, how high the number below its middle

// The label has a line of its own where it would not fit; what the key is high.
function key_part(key: Element, picture: SVGSVGElement, place: { x: number; y: number; width: number }): number {
  const { x, y, width } = place;
  const text = (kind: string): string => key.querySelector(`.${kind}`)?.textContent ?? "";
  const middle = text("middle"), below = middle ? kMark : 0;
  const most = text("most"), label = fitted(text("heat-label"), kText, width), after = x + 172 + text_width(most, kText);
  const is_one_line = after + text_width(label, kText) <= x + width;
  picture.append(words(text("least"), { x, y: y + 11 }),
    drawn("rect", { x: x + 16, y, width: kRamp, height: 12, fill: "url(#ramp)", stroke: "var(--line)" }),
    words(most, { x: x + 164, y: y + 11 }),
    words(label, is_one_line ? { x: after, y: y + 11 } : { x, y: y + 11 + below + kLine }));
  const centre = x + 16 + kRamp / 2;
  if (middle)
    picture.append(drawn("path", { d: `M${centre} ${y + 12}v4`, stroke: "var(--quiet)" }),
      words(middle, { x: centre, y: y + 27, "font-size": 12, "text-anchor": "middle" }));
  return (is_one_line ? 1 : 2) * kLine + below + 4;
}

function panel_part(panel: Element, picture: SVGSVGElement, x_shift: number, y_shift: number): void {
  const place = (kind: string): { node: Element; x: number; y: number; width: number } | undefined => {
    const node = panel.querySelector(kind), box = node?.getBoundingClientRect();
    return node && box ? { node, x: box.left + x_shift, y: box.top + y_shift, width: box.width } : undefined;
  };
  const title = place(".panel-title"), plot = place("svg.drawing"), key = place(".heat-key"), unable = place(".unable");
  if (title) {
    const text = fitted(title.node.textContent ?? "", kPanelTitle, title.width);
    picture.append(words(text, { x: title.x, y: title.y + 14, "font-weight": 600 }));
  }
  if (plot) picture.append(placed(plot.node as SVGSVGElement, plot.x, plot.y));
  if (unable)
    lines_of(unable.node.textContent ?? "", kText, unable.width).forEach((line, i) =>
      picture.append(words(line, { x: unable.x, y: unable.y + 14 + kLine * i })));
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

const kSide = 16384, kPixels = 1 << 26; // of a canvas, in most browsers
const kScale = 2, kLeast = 1 / 8; // pixels of the file for one of the screen

async function canvas_file(image: HTMLImageElement, width: number, height: number): Promise<Blob> {
  const fits = Math.min(kScale, kSide / width, kSide / height, Math.sqrt(kPixels / (width * height)));
  for (let scale = fits; scale >= kLeast; scale /= 2) {
    const canvas = element("canvas", { width: Math.floor(scale * width), height: Math.floor(scale * height) });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done));
    if (blob) return blob;
  }
  throw new Error(`the browser has no room for a picture of ${width} x ${height} pixels; use SVG`);
}

// As sharp as the browser can.
export async function png_file(picture: SVGSVGElement): Promise<Blob> {
  const address = URL.createObjectURL(svg_file(picture));
  try {
    const image = element("img", { src: address, alt: "" });
    await image.decode();
    const { width, height } = picture.viewBox.baseVal;
    return await canvas_file(image, width, height);
  } finally {
    URL.revokeObjectURL(address);
  }
}
