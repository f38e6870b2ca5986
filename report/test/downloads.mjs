// Files that the page's buttons make.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export async function saved(page, part, button) {
  const [download] = await Promise.all([
    page.waitForEvent("download"), part.getByRole("button", { name: `${button}:` }).click(),
  ]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

// XML without scripts, variables of the page or references to elsewhere.
export async function svgStandsAlone(page, figure) {
  const id = await figure.getAttribute("id");
  const svg = (await saved(page, figure, "SVG")).bytes.toString("utf8");
  const { problem, shapes, title, references } = await page.evaluate((text) => {
    const read = new DOMParser().parseFromString(text, "image/svg+xml");
    return {
      problem: read.querySelector("parsererror")?.textContent,
      shapes: read.querySelectorAll("path, rect, circle, line, image").length,
      title: read.documentElement.textContent,
      references: [...read.querySelectorAll("*")].flatMap((node) => [...node.attributes].map(({ name, value }) => `${name}=${value}`)),
    };
  }, svg);
  assert.equal(problem, undefined, id);
  assert.ok(shapes > 1, `${id}: ${shapes} shapes`);
  const letters = (text) => text.replace(/[^\p{L}\p{N}]/gu, "");  // lines are broken, and XML cannot hold all characters
  assert.ok(letters(title).includes(letters(await figure.locator("h3").innerText())), `${id}: no title`);
  assert.doesNotMatch(svg, /<script|<foreignObject|<style/i);
  for (const reference of references) {
    assert.doesNotMatch(reference, /^(xlink:)?href=(?!data:image\/png|#)|url\((?!["']?#)|var\(|^on/, id);
  }
}

// A picture of more than the colours of paper and ink.
export async function pngHasContent(page, figure) {
  const id = await figure.getAttribute("id");
  const png = (await saved(page, figure, "PNG")).bytes;
  assert.equal(png.subarray(0, 8).toString("hex"), "89504e470d0a1a0a");
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  assert.ok(width > 300 && height > 300, `${id}: ${width} x ${height} pixels`);
  assert.ok(await coloursOf(page, png) > 2, `${id}: the PNG is empty`);
}

const coloursOf = (page, png) => page.evaluate(async (address) => {
  const image = Object.assign(new Image(), { src: address });
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  return new Set(new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer)).size;
}, `data:image/png;base64,${png.toString("base64")}`);
