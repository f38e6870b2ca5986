// The page's functions of numbers and texts, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { moduleOf } from "./modules.mjs";

test("numbers are written for people", async () => {
  const { written, tick_text } = await moduleOf("numbers");
  const expected = new Map([
    [0, "0"], [-0, "0"], [1, "1"], [-1.5, "−1.5"], [1234, "1234"], [12345, "12\u202f345"], [1234567, "1\u202f234\u202f567"],
    [-123456, "−123\u202f456"], [0.30000000000000004, "0.3"], [0.123456, "0.1235"], [0.99999, "1"], [0.0001, "0.0001"],
    [99999.6, "100\u202f000"], [1.5e-7, "1.5 × 10⁻⁷"], [1e-10, "10⁻¹⁰"], [-1e-10, "−10⁻¹⁰"], [1.25e30, "1.25 × 10³⁰"],
    [5e-324, "4.941 × 10⁻³²⁴"], [Number.MAX_VALUE, "1.798 × 10³⁰⁸"],
  ]);
  for (const [value, text] of expected) assert.equal(written(value), text, `${value}`);
  for (const nothing of [null, undefined, NaN, Infinity, -Infinity]) assert.equal(written(nothing), "–");
  assert.equal(tick_text(0.1 + 0.2), "0.3");
  assert.equal(tick_text(-2), "−2");
});

test("fields of CSV are quoted, and no spreadsheet takes them for a formula", async () => {
  const { csv_text } = await moduleOf("csv");
  const expected = new Map([
    ["plain", "plain"], ["a,b", '"a,b"'], ['say "x"', '"say ""x"""'], ["two\nlines", '"two\nlines"'], [" edge", '" edge"'],
    ["=1+1", "'=1+1"], ["+1", "'+1"], ["-1", "'-1"], ["@SUM(A1)", "'@SUM(A1)"], ["\t=1", "'\t=1"],
    ["=a,b", '"\'=a,b"'], [-1.5, "-1.5"], [1e-300, "1e-300"], [0, "0"], [null, ""], ["", ""],
  ]);
  for (const [cell, text] of expected) assert.equal(csv_text(["c"], [[cell]]), `c\r\n${text}\r\n`);
  assert.equal(csv_text(["=a", "b"], []), "'=a,b\r\n");
});

test("a figure's numbers are one table", async () => {
  const { figure_table } = await moduleOf("csv");
  const panel = (series, more = {}) => ({ x: { label: "x" }, y: { label: "y" }, series, ...more });
  const line = { name: "s", stroke: "line", x: [1, 2], y: [3, null] };
  assert.deepEqual(figure_table({ id: "f", title: "f", panels: [panel([line])] }),
    { columns: ["series", "x", "y"], rows: [["s", 1, 3], ["s", 2, null]] });
  const heat = { columns: 2, rows: 1, value: [0.5, 1], label: "density", most: 4 };
  const axes = { x: { label: "x", low: 0, high: 4 }, y: { label: "y", low: 0, high: 2 }, heat };
  assert.deepEqual(figure_table({ id: "f", title: "f", panels: [panel([], axes)] }),
    { columns: ["x", "y", "density"], rows: [[1, 1, 2], [3, 1, 4]] });
});

test("names of files hold no path", async () => {
  const { file_name } = await moduleOf("download");
  assert.equal(file_name("run", "loss", "csv"), "run-loss.csv");
  assert.equal(file_name("../../etc/passwd", "a b", "svg"), "etc_passwd-a_b.svg");
  assert.equal(file_name("<i>", "", "png"), "i_-figure.png");
  assert.equal(file_name("", "..", "png"), "report-figure.png");
  assert.equal(file_name("Zürich", "x".repeat(200), "png"), `Zürich-${"x".repeat(80)}.png`);
});

test("rows sort by one column, what is missing last either way", async () => {
  const { sorted } = await moduleOf("table");
  const rows = [["b", 10], ["a", null], ["c", 9], ["d", 9], ["e", "text"]];
  assert.deepEqual(sorted(rows, 1, false).map((row) => row[0]).join(""), "cdbea");
  assert.deepEqual(sorted(rows, 1, true).map((row) => row[0]).join(""), "ebcda");
  assert.deepEqual(sorted([["item 10"], ["item 9"]], 0, false), [["item 9"], ["item 10"]]);
});
