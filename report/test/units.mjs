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
    ["=1+1", "'=1+1"], ["+1", "+1"], ["-1", "-1"], ["-1+1", "'-1+1"], ["-cmd", "'-cmd"], ["-1 +- 1+1", "'-1 +- 1+1"],
    ["-0.0168 +- 0.0860", "-0.0168 +- 0.0860"], ["-0.385%", "-0.385%"], ["+2e-3 ± 1%", "+2e-3 ± 1%"], ["-", "'-"],
    ["@SUM(A1)", "'@SUM(A1)"], ["\t=1", "'\t=1"],
    ["=a,b", '"\'=a,b"'], [-1.5, "-1.5"], [1e-300, "1e-300"], [0, "0"], [null, ""], ["", ""],
  ]);
  for (const [cell, text] of expected) assert.equal(csv_text(["c"], [[cell]]), `c\r\n${text}\r\n`);
  assert.equal(csv_text(["=a", "b"], []), "'=a,b\r\n");
});

test("neighbouring ticks are told apart, and none comes twice", async () => {
  const { linear_ticks, log_ticks } = await moduleOf("axis");
  const { tick_texts } = await moduleOf("numbers");
  for (const range of [[1e6, 1e6 + 10], [1, 1 + 1e-13], [1, 1 + 4e-16], [-1e-9, 1e-9], [1e15, 1e15 + 4], [0, 1e9],
    [1e20, 1e20 + 1e6], [0, Number.MAX_VALUE], [0.9, 1.1]]) {
    const ticks = linear_ticks(range, 6), texts = tick_texts(ticks, false);
    assert.ok(ticks.length >= 2 && ticks.every((v) => v >= range[0] && v <= range[1]), `${range}: ${ticks}`);
    assert.equal(new Set(ticks).size, ticks.length, `${range}: ${ticks}`);
    assert.equal(new Set(texts).size, texts.length, `${range}: ${texts}`);
  }
  assert.deepEqual(tick_texts([1e6, 1e6 + 2], false), ["1\u202f000\u202f000", "1\u202f000\u202f002"]);
  assert.deepEqual(tick_texts([0, 1e9], false), ["0", "10⁹"]);
  assert.deepEqual(tick_texts([0.1, 0.2, 0.30000000000000004], false), ["0.1", "0.2", "0.3"]);
  const far = log_ticks([5e-324, Number.MAX_VALUE], 6);
  assert.ok(far.length > 3 && far.every((v) => v > 0 && Number.isFinite(v)), `${far}`);
});

test("ranges of extreme numbers are finite, or known not to be", async () => {
  const { ranges_of, is_drawable } = await moduleOf("axis");
  const range = (y, logarithmic = false) =>
    ranges_of({ x: {}, y: { logarithmic }, series: [{ stroke: "line", x: y.map((_, i) => i), y }] })[1];
  const extremes = [
    [[1.79e308]], [[0, 1.79e308]], [[1e308, 1.79e308]], [[1e-320, 1e300], true], [[5e-324], true], [[1.79e308], true],
  ];
  for (const [y, logarithmic] of extremes) {
    const [low, high] = range(y, logarithmic);
    assert.ok(low < high && is_drawable([low, high], { logarithmic }), `${y}: ${low} to ${high}`);
    assert.ok(low <= Math.min(...y) && high >= Math.max(...y), `${y}: ${low} to ${high}`);
  }
  assert.ok(!is_drawable(range([-1.79e308, 1.79e308]), {}));
});

test("series differ in colour or shape, and none takes the grey of references", async () => {
  const { styles_of } = await moduleOf("strokes");
  const looks = (all) => [...styles_of({ id: "f", title: "f", panels: [{ x: {}, y: {}, series: all }] }).values()];
  const shape = (stroke, { colour, dash, symbol }) =>
    [colour, stroke.endsWith("points") || stroke === "marks" ? symbol : dash].join(" ");
  for (const stroke of ["line", "dashed", "marks", "line_points", "dashed_points", "rules"])
    for (const [count, colour] of [[54, () => undefined], [30, (i) => i % 5], [7, () => 3]]) {
      const styles = looks(Array.from({ length: count }, (_, i) => ({ name: `s${i}`, stroke, colour: colour(i), x: [], y: [] })));
      assert.equal(new Set(styles.map((style) => shape(stroke, style))).size, count, stroke);
      assert.ok(styles.every((style) => style.colour !== "var(--series-7)"), stroke);
    }
});

test("regions are stronger, the further inside others they are", async () => {
  const { styles_of } = await moduleOf("strokes");
  const places = [[5, 0, 9], [5, 1, 8], [0, 2, 7], [1, 20, 30], [1, 40, 50]];
  const series = places.map(([colour, low, high]) =>
    ({ name: `from ${low}`, stroke: "region", colour, x: [0, 1, 1, 0], y: [low, low, high, high] }));
  const styles = styles_of({ id: "f", title: "f", panels: [{ x: {}, y: {}, series }] });
  const [outer, middle, inner, apart, same] = series.map((one) => styles.get(one).opacity);
  assert.ok(outer < middle && middle < inner && apart < same);
  assert.equal(apart, outer);
});

test("keys of heat say what the middle and the darkest stand for", async () => {
  const { key_of, amount_text } = await moduleOf("heat");
  const heat = (scale, most, value = [0, 1]) => ({ columns: 2, rows: 1, value, most, scale, label: "amount" });
  assert.deepEqual(key_of(heat("root", 8)), { middle: "2", most: "8 or more", label: "amount" });
  assert.equal(key_of(heat("root", 8, [0, 0.5])).most, "8");
  assert.deepEqual(key_of(heat("logarithm", 99)), { middle: "9", most: "99", label: "amount" });
  assert.equal(key_of(heat("logarithm", 1)).middle, "");
  assert.deepEqual(key_of(heat(undefined, 8)), { middle: "4", most: "8", label: "amount" });
  assert.equal(amount_text(heat("root", 8), 1), "8 or more");
  assert.equal(amount_text(heat("root", 8), 0.5), "2");
});

test("panels stand in rows of at most four", async () => {
  const { columns_of } = await moduleOf("layout");
  const expected = [[1, 1, 1], [3, 1, 3], [4, 1, 4], [4, 2, 2], [5, 1, 3], [6, 1, 3], [7, 1, 4], [8, 1, 4], [9, 1, 3], [12, 3, 4]];
  for (const [panels, rows, columns] of expected) assert.equal(columns_of(panels, rows), columns, `${panels} in ${rows}`);
});

test("letters are cut as wholes", async () => {
  const { shortened } = await moduleOf("plot");
  assert.equal(shortened("short", 5), "short");
  assert.equal(shortened("abcdefgh", 5), "ab…gh");
  assert.equal(shortened("😀😁😂😃😄😅", 4), "😀😁…😅");
  assert.equal(shortened("😀😁😂", 3), "😀😁😂");
  const { file_name } = await moduleOf("download");
  assert.doesNotMatch(file_name(`a${"𝒳".repeat(100)}`, "x", "csv"), /\p{Surrogate}/u);
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

test("texts that begin with a number sort by it", async () => {
  const { sorted, is_numeric, compared } = await moduleOf("table");
  const order = (...texts) => sorted(texts.map((text) => [text]), 0, false).map((row) => row[0]);
  assert.deepEqual(order("0.5 +- 1", "-0.0168 +- 0.0860", "−2", "+0.1", "-1e-3"),
    ["−2", "-0.0168 +- 0.0860", "-1e-3", "+0.1", "0.5 +- 1"]);
  assert.deepEqual(order("10%", "0.385%", "9%"), ["0.385%", "9%", "10%"]);
  assert.deepEqual(order("2 (1 of 4 failed)", "1.6330 (3 of 4 failed)", 1.7), ["1.6330 (3 of 4 failed)", 1.7, "2 (1 of 4 failed)"]);
  assert.deepEqual(order("1 b", "1 a", "x"), ["1 a", "1 b", "x"]);
  assert.deepEqual(order("=x", "+7", "5"), ["5", "+7", "=x"]);
  const cells = [1, 2.5, "5", "-3 a", "-3 b", "=x", "+7", "", "abc", "1e999", "1e999 b", "−1"];
  for (const a of cells) for (const b of cells) {
    assert.equal(Math.sign(compared(a, b)), -Math.sign(compared(b, a)) || 0, `${a}, ${b}`);
    for (const c of cells) if (compared(a, b) < 0 && compared(b, c) < 0) assert.ok(compared(a, c) < 0, `${a}, ${b}, ${c}`);
  }
  assert.ok(is_numeric([["1%"], [null], [2], ["-3 +- 1"], [""]], 0));
  assert.ok(!is_numeric([["1%"], ["none"]], 0));
  assert.ok(!is_numeric([[null], [""]], 0));
});
