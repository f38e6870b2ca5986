// A figure as a file of its own: title, legend and panels as they are on the screen, colours and fonts in it.
import { drawn, element } from "./dom";
import { ramp_stop } from "./heat";

const kEdge = 16, kLine = 20;
const kFont = "system-ui, sans-serif";

const measure = element("canvas").getContext("2d");

function text_width(text: string, font: string): number {
  if (!measure) return 7 * text.length;
  measure.font = font;
  return measure.measureText(text).width;
}

function lines_of(text: string, font: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length && text_width(longer, font) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

// Variables of the page become the values that they have now; what is not shown goes.
function resolve(root: Element): void {
  const values = getComputedStyle(document.documentElement);
  const ink = values.getPropertyValue("--ink").trim();
  const hidden = document.documentElement.dataset.theme === "dark" ? ".heat-light" : ".heat-dark";
  root.querySelectorAll(hidden).forEach((node) => node.remove());
  for (const node of [root, ...root.querySelectorAll("*")])
    for (const { name, value } of [...node.attributes])
      if (/var\(|currentColor/i.test(value))
        node.setAttribute(name, value.replace(/var\((--[\w-]+)\)/g, (_, variable) => values.getPropertyValue(variable).trim())
          .replace(/currentColor/gi, ink));
}

function placed(svg: SVGSVGElement, x: number, y: number): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  copy.setAttribute("x", String(x));
  copy.setAttribute("y", String(y));
  return copy;
}

const words = (text: string, attributes: Record<string, string | number>): SVGTextElement =>
  drawn("text", { "font-family": kFont, "font-size": 13, fill: "var(--ink)", ...attributes }, text);

function legend_part(figure: HTMLElement, picture: SVGSVGElement, top: number, width: number): number {
  let x = kEdge, y = top;
  for (const entry of figure.querySelectorAll(".legend button[aria-pressed=true]")) {
    const name = entry.querySelector("span")?.textContent ?? "", room = 30 + 6 + text_width(name, `13px ${kFont}`) + 18;
    if (x > kEdge && x + room > width - kEdge) [x, y] = [kEdge, y + kLine];
    picture.append(placed(entry.querySelector("svg")!, x, y), words(name, { x: x + 36, y: y + 11 }));
    x += room;
  }
  return figure.querySelector(".legend button[aria-pressed=true]") ? y + kLine + 6 : top;
}

function heat_part(figure: HTMLElement, picture: SVGSVGElement, top: number): number {
  const key = figure.querySelector(".heat-key");
  if (!key) return top;
  const theme = document.documentElement.dataset.theme === "dark" ? "dark" : "light";
  const stops = ([0, 1, 2] as const).map((i) => drawn("stop", { offset: i / 2, "stop-color": ramp_stop(theme, i) }));
  const [least = "", most = "", label = ""] = [...key.childNodes].map((node) => node.textContent ?? "").filter(Boolean);
  picture.append(drawn("defs", {}, drawn("linearGradient", { id: "ramp" }, ...stops)), words(least, { x: kEdge, y: top + 11 }),
    drawn("rect", { x: kEdge + 16, y: top, width: 140, height: 12, fill: "url(#ramp)", stroke: "var(--line)" }),
    words(`${most}  ${label}`, { x: kEdge + 164, y: top + 11 }));
  return top + kLine + 4;
}

export function svg_picture(figure: HTMLElement): SVGSVGElement {
  const panels = figure.querySelector<HTMLElement>(".panels")!;
  const origin = panels.getBoundingClientRect();
  const width = Math.ceil(origin.width) + 2 * kEdge;
  const picture = drawn("svg", { xmlns: "http://www.w3.org/2000/svg" });
  const background = picture.appendChild(drawn("rect", { width: "100%", height: "100%", fill: "var(--surface)" }));
  let top = kEdge;
  const font = `600 16px ${kFont}`;
  for (const line of lines_of(figure.querySelector("h3")!.textContent ?? "", font, width - 2 * kEdge)) {
    picture.append(words(line, { x: kEdge, y: top + 14, "font-size": 16, "font-weight": 600 }));
    top += 22;
  }
  top = heat_part(figure, picture, legend_part(figure, picture, top + 6, width));
  for (const panel of panels.querySelectorAll(".panel")) {
    const title = panel.querySelector(".panel-title");
    if (title) {
      const box = title.getBoundingClientRect();
      picture.append(words(title.textContent ?? "", { x: kEdge + box.left - origin.left, y: top + box.top - origin.top + 13, "font-weight": 600 }));
    }
    const svg = panel.querySelector<SVGSVGElement>("svg.drawing");
    const box = svg?.getBoundingClientRect();
    if (svg && box) picture.append(placed(svg, kEdge + box.left - origin.left, top + box.top - origin.top));
  }
  const height = Math.ceil(top + origin.height + kEdge);
  background.setAttribute("height", String(height));
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) picture.setAttribute(name, String(value));
  resolve(picture);
  return picture;
}

// Characters that XML cannot hold, of labels and ticks too, are left out.
export const svg_file = (picture: SVGSVGElement): Blob =>
  new Blob([new XMLSerializer().serializeToString(picture).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")],
    { type: "image/svg+xml" });

// Two pixels of the file are one of the screen.
export async function png_file(picture: SVGSVGElement): Promise<Blob> {
  const address = URL.createObjectURL(svg_file(picture));
  try {
    const image = element("img", { src: address, alt: "" });
    await image.decode();
    const canvas = element("canvas", { width: 2 * picture.width.baseVal.value, height: 2 * picture.height.baseVal.value });
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) =>
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("the picture could not be written as PNG")))));
  } finally {
    URL.revokeObjectURL(address);
  }
}
