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
