// Pages of documents that no command would write at once: everything there is, nothing, hostile, huge, damaged.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { launched, missing, opened } from "./browser.mjs";
import { everyFigureHasMarks, marksAnswer, reportIsSound } from "./checks.mjs";
import { pngHasContent, svgStandsAlone } from "./downloads.mjs";
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

test("a damaged page says so", { skip: missing }, async () => {
  for (const text of ["", "{", "[]", "null", "{\"format\": 2}"]) {
    const { page, close } = await opened(browser, pageOfText("damaged", text));
    assert.match(await page.locator("[role=alert]").innerText(), /damaged|another version/);
    await close();
  }
});
