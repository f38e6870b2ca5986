// Pages of documents that no command would write at once: everything there is, nothing, hostile, huge, damaged.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { launched, missing, opened } from "./browser.mjs";
import { axeFindsNothingSerious, everyFigureHasMarks, fitsAPhone, marksAnswer, reportIsSound, textIsWhole } from "./checks.mjs";
import { pngHasContent, saved, svgStandsAlone } from "./downloads.mjs";
import { documentOf, figureOf, pageOf, pageOfText } from "./pages.mjs";

const pictures = process.env.SELFNORM_PICTURES;
const everything = JSON.parse(readFileSync(new URL("fixtures/everything.json", import.meta.url), "utf8"));
let browser;
before(async () => {
  if (!missing) browser = await launched();
});
after(() => browser?.close());

test("everything a document may have", { skip: missing }, async () => {
  const file = pageOf("everything", everything);
  await reportIsSound(browser, file, { name: "everything", pictures });
  const { page, trouble, close } = await opened(browser, file, { dark: true });
  for (const figure of await page.locator("main figure").all()) {
    await svgStandsAlone(page, figure);
    await pngHasContent(page, figure);
  }
  assert.deepEqual(trouble, []);
  await close();
});

test("the colours that were chosen are kept while the page is open", { skip: missing }, async () => {
  const { page, close } = await opened(browser, pageOf("everything", everything));
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.getByRole("button", { name: "Dark" }).click();
  assert.notEqual(await background(), light);
  await page.emulateMedia({ colorScheme: "light" });
  assert.notEqual(await background(), light);
  await page.getByRole("button", { name: "Auto" }).click();
  assert.equal(await background(), light);
  await close();
});

const hostile = [
  "<img src=x onerror=\"window.hacked=1;alert(1)\">", "</script><script>window.hacked=1</script>", "<!--<script>",
  "\"'><svg onload=window.hacked=1>", "javascript:window.hacked=1", "{{DATA}}", "../../../etc/passwd", "__proto__",
  "\u2028\u2029\u202e\u0000\u0007\ud800", "",
];

function sectionOf(text) {
  const series = { name: text, stroke: "line_points", x: [1, 2], y: [1, 2], labels: [text, text] };
  const panel = { title: text, x: { label: text, ticks: [text, text] }, y: { label: text }, series: [series] };
  return {
    title: text,
    figures: [{ id: text, title: text, look: text, panels: [panel] }],
    tables: [{ id: text, title: text, look: text, columns: [text], rows: [[text], [text]] }],
  };
}

test("hostile texts stay text, wherever they are", { skip: missing }, async () => {
  const name = hostile[0];
  const cards = hostile.map((text) => ({ id: text, label: text, value: text, source: text }));
  const file = pageOf("hostile", { format: 1, name, command: name, title: name, notes: hostile, cards, sections: hostile.map(sectionOf) });
  const { page, trouble, close } = await opened(browser, file);
  await everyFigureHasMarks(page);
  await marksAnswer(page);
  for (const figure of await page.locator("main figure").all()) {
    await figure.getByRole("button", { name: "Data:" }).click();
    await svgStandsAlone(page, figure);
  }
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("main img, main script, main [onload]").count(), 0);
  assert.equal(await page.locator("h1").innerText(), name);
  assert.deepEqual(trouble, []);
  await close();
});

test("100,000 points", { skip: missing }, async () => {
  const x = Array.from({ length: 100000 }, (_, i) => i), y = x.map((i) => Math.sin(i / 5000) + ((i * 7919) % 1000) / 1000);
  const figures = [
    figureOf("cloud", [{ name: "points", stroke: "points", x, y }]),
    figureOf("curve", [{ name: "line", stroke: "line", x, y }]),
  ];
  const rows = x.map((i) => [i, y[i]]);
  const tables = [{ id: "all", title: "All", look: "Many.", columns: ["x", "y"], rows }];
  const { page, trouble, close } = await opened(browser, pageOf("many", documentOf({ figures, tables })));
  await everyFigureHasMarks(page);
  await marksAnswer(page);
  assert.ok(await page.locator("*").count() < 5000, "an element a point");
  assert.equal(await page.locator("#table-all tbody tr").count(), 100);
  assert.deepEqual(trouble, []);
  await close();
});

test("a document without anything is a page", { skip: missing }, async () => {
  for (const data of [{ format: 1, name: "n", command: "c", title: "t" }, documentOf({}), documentOf({ figures: [figureOf("none", [])] })]) {
    const { page, trouble, close } = await opened(browser, pageOf("empty", data));
    assert.equal(await page.locator("h1").count(), 1);
    assert.deepEqual(trouble, []);
    await close();
  }
});

test("what is bad is red and not bold", { skip: missing }, async () => {
  const card = { id: "certificate", label: "Certificate", value: "not normalised", number: 0.9 };
  const styles = [];
  for (const cards of [[card], [{ ...card, tone: "bad" }]]) {
    const { page, close } = await opened(browser, pageOf("tone", { ...documentOf({}), cards }));
    styles.push(await page.locator(".card dd").first().evaluate((node) => {
      const { color, fontWeight } = getComputedStyle(node);
      return { color, fontWeight };
    }));
    await close();
  }
  assert.notEqual(styles[0].color, styles[1].color);
  assert.deepEqual([styles[0].fontWeight, styles[1].fontWeight], ["600", "400"]);
});

test("a damaged page says so", { skip: missing }, async () => {
  for (const text of ["", "{", "[]", "null", "{\"format\": 2}"]) {
    const { page, close } = await opened(browser, pageOfText("damaged", text));
    assert.match(await page.locator("[role=alert]").innerText(), /damaged|another version/);
    await close();
  }
});

test("extreme numbers are drawn, or said not to be", { skip: missing }, async () => {
  const line = (y) => [{ name: "s", stroke: "line_points", x: y.map((_, i) => i), y }];
  const figures = [
    figureOf("large", line([1e308, 1.79e308])), figureOf("one", line([1.79e308])),
    figureOf("wide", line([1e-320, 1, 1e300]), { y: { logarithmic: true } }),
    figureOf("close", line([1, 1 + 1e-13])), figureOf("apart", line([-1.79e308, 1.79e308])),
  ];
  const { page, trouble, close } = await opened(browser, pageOf("extreme", documentOf({ figures })));
  const apart = page.locator("#figure-apart");
  assert.match(await apart.locator(".plot").innerText(), /cannot be drawn/);
  assert.match((await saved(page, apart, "SVG")).bytes.toString("utf8"), /cannot be drawn/);
  await apart.evaluate((node) => node.remove());
  await everyFigureHasMarks(page);
  await marksAnswer(page);
  await fitsAPhone(page);
  assert.deepEqual(trouble, []);
  await close();
});

test("what is missing or no list leaves the rest of the page", { skip: missing }, async () => {
  const figure = figureOf("loss", [{ stroke: "line", x: [1, 2], y: [1, 2] }]);
  const card = { id: "model", label: "Model", value: "a model" };
  const table = { id: "t", title: "T", columns: ["c"], rows: [[1]] };
  const section = { title: "S", figures: [null, figure, { id: "f", title: "Broken" }], tables: [null, table, 3] };
  const whole = {
    format: 1, name: "n", command: "c", title: "t", notes: ["A note."], cards: [null, card], sections: [null, section, 5],
  };
  for (const data of [whole, { ...whole, notes: "text" }, { ...whole, notes: {} }, { ...whole, cards: null, notes: [null, 3] }]) {
    const { page, trouble, close } = await opened(browser, pageOf("nulls", data));
    assert.equal(await page.locator("#figure-loss svg.drawing").count(), 1);
    assert.equal(await page.locator("#table-t").count(), 1);
    assert.equal(await page.locator(".card").count(), data.cards ? 1 : 0);
    assert.match(await page.locator(".notes li").last().innerText(), /Parts of this report are missing/);
    assert.match(await page.locator(".part[role=alert]").innerText(), /Broken.* cannot be drawn/);
    assert.deepEqual(trouble, []);
    await close();
  }
});

test("notes are a list, ids are different, paper says what it leaves out", { skip: missing }, async () => {
  const figures = ["loss", "loss-data", "loss-title", "loss"].map((id) => figureOf(id, [{ stroke: "line", x: [1, 2], y: [1, 2] }]));
  const rows = Array.from({ length: 500 }, (_, i) => [i, `${-i} +- 1`, `text ${i}`]);
  const tables = [{ id: "all", title: "All", columns: ["a", "b", "c"], rows }];
  const file = pageOf("parts", documentOf({ figures, tables, notes: ["One.", "Two."] }));
  const { page, trouble, close } = await opened(browser, file);
  await textIsWhole(page);
  await axeFindsNothingSerious(page);
  assert.deepEqual(await page.getByRole("region", { name: "Notes" }).getByRole("listitem").allInnerTexts(), ["One.", "Two."]);
  assert.equal(await page.getByRole("alert").count(), 0);
  const classes = await page.locator("#table-all tbody tr:first-child td").evaluateAll((cells) => cells.map((cell) => cell.className));
  assert.deepEqual(classes, ["number", "number", ""]);
  const left_out = page.getByText("100 of 500 rows; the CSV has all");
  assert.ok(!await left_out.isVisible());
  await page.emulateMedia({ media: "print" });
  assert.ok(await left_out.isVisible());
  await page.emulateMedia({ media: "screen" });
  await page.getByRole("button", { name: "Show all 500 rows" }).click();
  await page.emulateMedia({ media: "print" });
  assert.ok(!await left_out.isVisible());
  assert.deepEqual(trouble, []);
  await close();
});

test("colours of the system: the ramp keeps its own, and there is nothing to choose", { skip: missing }, async () => {
  const { page, close } = await opened(browser, pageOf("everything", everything));
  const look = () => page.evaluate(() => ({
    ramp: getComputedStyle(document.querySelector(".ramp")).backgroundImage,
    ink: getComputedStyle(document.querySelector("h1")).color,
    tick: getComputedStyle(document.querySelector(".drawing [aria-label*='tick label'] text")).fill,
    theme: getComputedStyle(document.querySelector(".theme")).display,
  }));
  const before = await look();
  await page.emulateMedia({ forcedColors: "active" });
  const forced = await look();
  assert.equal(forced.ramp, before.ramp);
  assert.equal(forced.tick, forced.ink);
  assert.notEqual(before.tick, before.ink);
  assert.equal(forced.theme, "none");
  const svg = (await saved(page, page.locator("#figure-loss"), "SVG")).bytes.toString("utf8");
  assert.doesNotMatch(svg, /canvas|graytext|linktext/i);
  await close();
});

test("seven panels stand in two rows, on the page and in files", { skip: missing }, async () => {
  const panel = { x: { label: "x" }, y: { label: "y" }, series: [{ stroke: "line", x: [1, 2], y: [1, 2] }] };
  const figures = [{ id: "seven", title: "Seven", panels: Array.from({ length: 7 }, (_, i) => ({ ...panel, title: `${i}` })) }];
  const { page, close } = await opened(browser, pageOf("seven", documentOf({ figures })));
  const rowsOf = (places) => new Set(places.map((place) => Math.round(place))).size;
  assert.equal(rowsOf(await page.locator(".panel").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top))), 2);
  const svg = (await saved(page, page.locator("#figure-seven"), "SVG")).bytes.toString("utf8");
  const tops = [...svg.matchAll(/<svg [^>]*class="drawing"[^>]*>/g)].map(([tag]) => Number(/ y="([^"]*)"/.exec(tag)[1]));
  assert.equal(tops.length, 7);
  assert.equal(rowsOf(tops), 2);
  await close();
});

test("the page holds the licences of what it is made of", { skip: missing }, () => {
  const page = readFileSync(process.env.SELFNORM_PAGE, "utf8");
  for (const words of ["@observablehq/plot 0", "Observable, Inc.", "d3-scale 4", "Mike Bostock", "Permission to use, copy"])
    assert.ok(page.includes(words), words);
});
