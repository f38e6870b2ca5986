// What holds of every report, whatever it shows.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import axe from "axe-core";
import { drawn, opened } from "./browser.mjs";

// Panels by figure, with their marks: what is drawn apart from axes, grids and frames, and has a size.
function panelsOfPage() {
  const scenery = "defs, clipPath, [aria-label*='axis'], [aria-label*='grid'], [aria-label='frame']";
  return [...document.querySelectorAll("main figure")].flatMap((figure) =>
    [...figure.querySelectorAll(".plot svg")].map((svg) => {
      const shapes = [...svg.querySelectorAll("path, rect, circle, line, polygon, image")];
      const marks = shapes.filter((shape) => {
        const box = shape.getBBox();
        return !shape.closest(scenery) && box.width + box.height > 0;
      });
      const numbers = shapes.flatMap((shape) => [...shape.attributes].map((attribute) => attribute.value));
      return {
        figure: figure.id,
        marks: marks.length,
        broken: numbers.filter((text) => /NaN|undefined|Infinity/.test(text)).length,
        name: svg.closest(".plot").getAttribute("aria-label"),
      };
    }));
}

export async function everyFigureHasMarks(page) {
  const panels = await page.evaluate(panelsOfPage);
  const figures = await page.locator("main figure").count();
  assert.ok(figures > 0, "the page has no figure");
  assert.equal(new Set(panels.map((panel) => panel.figure)).size, figures, "figures without a picture, or of one id");
  for (const panel of panels) {
    assert.ok(panel.marks > 0, `figure ${panel.figure}: nothing is drawn`);
    assert.equal(panel.broken, 0, `figure ${panel.figure}: numbers that are none`);
    assert.ok(panel.name, `figure ${panel.figure}: a screen reader has no name for it`);
  }
}

// One heading of the first level, levels without gaps, ids once, no text that betrays a missing value.
export async function textIsWhole(page) {
  const { text, levels, ids } = await page.evaluate(() => ({
    text: document.body.innerText,
    levels: [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((heading) => Number(heading.tagName[1])),
    ids: [...document.querySelectorAll("[id]")].map((node) => node.id),
  }));
  assert.doesNotMatch(text, /\bNaN\b|\bundefined\b|\[object |\bInfinity\b/);
  assert.equal(levels.filter((level) => level === 1).length, 1);
  levels.forEach((level, i) => assert.ok(i === 0 || level <= levels[i - 1] + 1, `heading ${i}: level ${level}`));
  assert.equal(new Set(ids).size, ids.length, "an id occurs twice");
  assert.notEqual(await page.title(), "selfnorm", "the title of the window is that of the report");
}

// `rules` are those looked at; all, where there are none.
export async function axeFindsNothingSerious(page, rules = undefined) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate((runOnly) =>
    globalThis.axe.run(document, { resultTypes: ["violations"], ...(runOnly && { runOnly }) }), rules);
  const serious = violations.filter((violation) => ["serious", "critical"].includes(violation.impact));
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`), []);
}

// At 360 pixels, the narrowest phone.
export async function fitsAPhone(page) {
  await page.setViewportSize({ width: 360, height: 740 });
  await drawn(page);
  const [scroll, width] = await page.evaluate(() =>
    [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(scroll <= width, `the page is ${scroll} pixels wide on a phone of ${width}`);
}

// Of the buttons, paper shows those that are words of the figure, names of series and columns, as mere words.
export async function printsWithoutButtons(page) {
  await page.emulateMedia({ media: "print" });
  const buttons = await page.locator("button:visible").evaluateAll((nodes) => nodes.map((node) => {
    const { borderTopColor, borderTopWidth, backgroundColor } = getComputedStyle(node);
    const clear = (colour) => /, 0\)$|^transparent$/.test(colour);
    const plain = clear(backgroundColor) && (borderTopWidth === "0px" || clear(borderTopColor));
    return { text: node.innerText, words: plain && node.closest(".legend, th") !== null };
  }));
  assert.deepEqual(buttons.filter(({ words }) => !words), []);
  await page.emulateMedia({ media: "screen" });
}

// Keys and pointer show the numbers of a mark of every panel.
export async function marksAnswer(page) {
  for (const plot of await page.locator("main .plot").all()) {
    const name = await plot.getAttribute("aria-label");
    const tooltip = plot.locator(".tooltip:visible");
    await plot.focus();
    await page.keyboard.press("ArrowRight");
    const text = await tooltip.innerText();
    assert.match(text, /\d/, `${name}: no number in '${text}'`);
    assert.match(await page.locator("#live").innerText(), /\d/, `${name}: nothing is said`);
    const box = await plot.locator(".highlight circle, rect.highlight").boundingBox();
    await page.keyboard.press("Escape");
    assert.equal(await tooltip.count(), 0, `${name}: Escape leaves`);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    assert.match(await tooltip.innerText(), /\d/, `${name}: pointing at a mark shows nothing`);
    await page.mouse.move(0, 0);
  }
}

// Every series can be hidden, and comes back as it was.
export async function seriesToggle(page) {
  const toggled = await page.locator("main figure").evaluateAll((figures) => figures.flatMap((figure) => {
    const marks = () => figure.querySelectorAll(".plot svg *").length;
    return [...figure.querySelectorAll(".legend button")].map((toggle) => {
      const all = marks();
      const states = [0, 1].map(() => {
        toggle.click();
        return { marks: marks(), pressed: toggle.getAttribute("aria-pressed") };
      });
      return { name: `${figure.id}: '${toggle.innerText}'`, all, states };
    });
  }));
  for (const { name, all, states: [hidden, shown] } of toggled) {
    assert.ok(hidden.marks < all && hidden.pressed === "false", `${name} is still drawn`);
    assert.ok(shown.marks === all && shown.pressed === "true", `${name} does not come back`);
  }
}

async function kept(page, folder, name) {
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
}

// All of the above of one file, and the ids of its figures and tables; `pictures` is the folder of the screenshots, or
// undefined.
export async function reportIsSound(browser, file, { name, pictures }) {
  let ids = [];
  for (const dark of [false, true]) {
    const { page, trouble, close } = await opened(browser, file, { dark });
    const scheme = dark ? "dark" : "light";
    await everyFigureHasMarks(page);
    await axeFindsNothingSerious(page, dark ? ["color-contrast"] : undefined);
    await kept(page, pictures, `${name}-1280-${scheme}`);
    if (!dark) {
      ids = await page.locator("main .part").evaluateAll((parts) => parts.map((part) => part.id));
      await textIsWhole(page);
      await marksAnswer(page);
      await seriesToggle(page);
      await printsWithoutButtons(page);
    }
    await page.setViewportSize({ width: 390, height: 844 });
    await drawn(page);
    await kept(page, pictures, `${name}-390-${scheme}`);
    if (!dark) {
      await fitsAPhone(page);
      await everyFigureHasMarks(page);
    }
    assert.deepEqual(trouble, []);
    await close();
  }
  return ids;
}
