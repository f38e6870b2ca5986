// Pointing, keys, toggles, sorting and downloads, on a document whose numbers are known.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launched, missing, opened } from "./browser.mjs";
import { pngHasContent, saved, svgStandsAlone } from "./downloads.mjs";
import { documentOf, figureOf, pageOf } from "./pages.mjs";

const heat = { columns: 2, rows: 2, value: [0, 0.25, 0.5, 1], label: "density", most: 8 };
const known = documentOf({
  figures: [
    figureOf("loss", [
      { name: "training", stroke: "line_points", x: [1, 2, 3], y: [0.75, 0.5, 0.25], error: [0.125, 0.0625, 0.03125] },
      { name: "=validation", stroke: "line", x: [1, 2, 3], y: [0.875, 0.625, 0.375], labels: ["first", "second", "third"] },
    ]),
    figureOf("histogram", [{ name: "inputs", stroke: "bars", x: [0, 1, 2], x_end: [1, 2, 3], y: [10, 40, 20] }]),
    figureOf("heat", [], { x: { label: "a", low: 0, high: 4 }, y: { label: "b", low: 0, high: 4 }, heat }),
    figureOf("edge", [{ name: "p", stroke: "points", x: [4], y: [4] }], {
      x: { label: "a", low: 0, high: 4 }, y: { label: "b", low: 0, high: 4 }, heat: { ...heat, scale: "root" },
    }),
    { ...figureOf("cut", [{ name: "😀".repeat(300), stroke: "line", x: [1, 2], y: [1, 2] }]), title: `a${"😀".repeat(300)}` },
  ],
  tables: [{
    id: "worst", title: "Worst inputs", look: "Few are far off.", columns: ["input", "log Z"],
    rows: [["b", 10], ["a", -2.5], ["c", null], ["d", 9]],
  }],
});

let browser, page, trouble, close;
before(async () => {
  if (missing) return;
  browser = await launched();
  ({ page, trouble, close } = await opened(browser, pageOf("known", known)));
});
after(async () => {
  if (missing) return;
  await close();
  await browser.close();
});
const checked = (name, body) => test(name, { skip: missing }, async () => {
  await body();
  assert.deepEqual(trouble, []);
});

const figure = (id) => page.locator(`#figure-${id}`);
const tooltip = (id) => figure(id).locator(".tooltip:visible");
const holds = (text, parts) => parts.forEach((part) => assert.ok(text.includes(part), `'${part}' in '${text}'`));

checked("keys go along a series and between series", async () => {
  await figure("loss").locator(".plot").focus();
  const shown = async (key) => {
    await page.keyboard.press(key);
    return (await tooltip("loss").innerText()) + (await page.locator("#live").innerText());
  };
  holds(await shown("ArrowRight"), ["training", "step", "1", "loss", "0.75 ± 0.1"]);
  holds(await shown("ArrowRight"), ["training", "2", "0.5"]);
  holds(await shown("End"), ["training", "3", "0.25"]);
  holds(await shown("ArrowRight"), ["training", "3", "0.25"]);
  holds(await shown("ArrowDown"), ["=validation", "third", "0.375"]);
  holds(await shown("ArrowLeft"), ["=validation", "second", "0.625"]);
  holds(await shown("Home"), ["=validation", "first", "0.875"]);
  await page.keyboard.press("Escape");
  assert.equal(await tooltip("loss").count(), 0);
});

checked("pointing at a bar shows its ends and its height", async () => {
  const bars = figure("histogram").locator(".plot svg [aria-label='rect'] rect");
  await bars.nth(1).scrollIntoViewIfNeeded();
  const box = await bars.nth(1).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  holds(await tooltip("histogram").innerText(), ["inputs", "1 to 2", "40"]);
  await page.mouse.move(0, 0);
  assert.equal(await tooltip("histogram").count(), 0);
});

checked("pointing at heat shows what it stands for", async () => {
  const frame = figure("heat").locator("rect[aria-label='frame']");
  await frame.scrollIntoViewIfNeeded();
  const box = await frame.boundingBox();
  for (const [across, up, value] of [[0.25, 0.25, "0"], [0.75, 0.25, "2"], [0.25, 0.75, "4"], [0.75, 0.75, "8"]]) {
    await page.mouse.move(box.x + across * box.width, box.y + (1 - up) * box.height);
    const text = await tooltip("heat").innerText();
    assert.match(text, new RegExp(`density\\s*${value}$`), text);
  }
});

checked("a hidden series does not answer", async () => {
  const toggle = figure("loss").getByRole("button", { name: "training" });
  await toggle.click();
  await figure("loss").locator(".plot").focus();
  await page.keyboard.press("ArrowRight");
  holds(await tooltip("loss").innerText(), ["=validation"]);
  await toggle.press("Enter");
  assert.equal(await toggle.getAttribute("aria-pressed"), "true");
});

checked("targets are large enough for fingers", async () => {
  for (const target of await page.locator("button:visible").all()) {
    const { width, height } = await target.boundingBox();
    assert.ok(Math.min(width, height) >= 24, `${await target.innerText()}: ${width} x ${height} pixels`);
  }
});

checked("tables sort by their headings, numbers as numbers, what is missing last", async () => {
  const table = page.locator("#table-worst");
  const first = async () => (await table.locator("tbody tr td:first-child").allInnerTexts()).join("");
  const sort = (heading) => table.locator("th button").nth(heading).click();
  assert.equal(await first(), "bacd");
  await sort(1);
  assert.equal(await first(), "adbc");
  assert.equal(await table.locator("th").nth(1).getAttribute("aria-sort"), "ascending");
  await sort(1);
  assert.equal(await first(), "bdac");
  assert.equal(await table.locator("th").nth(1).getAttribute("aria-sort"), "descending");
  await sort(0);
  assert.equal(await first(), "abcd");
  assert.equal(await table.locator("th[aria-sort]").count(), 1);
});

checked("the numbers of a figure are a table, too", async () => {
  const data = figure("loss").getByRole("button", { name: "Data" });
  await data.click();
  assert.equal(await figure("loss").locator("tbody tr").count(), 6);
  await data.click();
  assert.equal(await figure("loss").locator("tbody tr:visible").count(), 0);
});

checked("files hold what is shown", async () => {
  const csv = await saved(page, figure("loss"), "CSV");
  assert.equal(csv.name, "run-loss.csv");
  assert.deepEqual(csv.bytes.toString("utf8").trimEnd().split("\r\n"), [
    "series,label,step,loss,error of loss",
    "training,,1,0.75,0.125", "training,,2,0.5,0.0625", "training,,3,0.25,0.03125",
    "'=validation,first,1,0.875,", "'=validation,second,2,0.625,", "'=validation,third,3,0.375,",
  ]);
  const table = await saved(page, page.locator("#table-worst"), "CSV");
  assert.equal(table.bytes.toString("utf8"), "input,log Z\r\nb,10\r\na,-2.5\r\nc,\r\nd,9\r\n");
  for (const id of ["loss", "histogram", "heat"]) {
    await svgStandsAlone(page, figure(id));
    await pngHasContent(page, figure(id));
  }
});

checked("keys go from a point on the edge to the heat, whose key says where it is cut", async () => {
  await figure("edge").locator(".plot").focus();
  await page.keyboard.press("ArrowRight");
  holds(await tooltip("edge").innerText(), ["p"]);
  await page.keyboard.press("ArrowDown");
  holds(await tooltip("edge").innerText(), ["density", "8 or more"]);
  await page.keyboard.press("Escape");
  assert.deepEqual(await figure("edge").locator(".heat-key span").allInnerTexts(), ["0", "2", "2", "8 or more", "density"]);
  const svg = (await saved(page, figure("edge"), "SVG")).bytes.toString("utf8");
  for (const text of [">2<", ">8 or more<"]) assert.ok(svg.includes(text), text);
});

checked("names for screen readers are those of the things", async () => {
  assert.equal(await page.getByRole("table", { name: "Worst inputs", exact: true }).count(), 1);
  assert.equal(await page.getByRole("group", { name: "Series of Figure loss", exact: true }).count(), 1);
  const heading = page.locator("#table-worst").getByRole("button", { name: "log Z", exact: true });
  assert.equal(await heading.count(), 1);
  await heading.click();
  assert.equal(await heading.count(), 1);
});

checked("letters of pictures are cut as wholes", async () => {
  const svg = (await saved(page, figure("cut"), "SVG")).bytes.toString("utf8");
  assert.match(svg, /😀…</u);
  assert.doesNotMatch(svg, /\ufffd|\p{Surrogate}/u);
});

checked("a PNG is as sharp as the browser can, and says so when it cannot", async () => {
  const allow = (most) => page.evaluate((pixels) => {
    const { prototype } = HTMLCanvasElement;
    prototype.whole ??= prototype.toBlob;
    prototype.toBlob = function (done) {
      if (this.width > pixels) done(null);
      else this.whole(done);
    };
  }, most);
  const alert = figure("loss").getByRole("alert");
  await allow(0);
  await figure("loss").getByRole("button", { name: "PNG:" }).click();
  await alert.waitFor();
  assert.match(await alert.innerText(), /No PNG: .*SVG/);
  await allow(700);
  const png = (await saved(page, figure("loss"), "PNG")).bytes;
  assert.ok(png.readUInt32BE(16) <= 700);
  assert.equal(await alert.count(), 0);
  await allow(Infinity);
});
