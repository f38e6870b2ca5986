// Pages of documents without the program: the template with the data in their place, as src/report/page.cc does it.
// SELFNORM_PAGE is the template.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";

const escapes = { "<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029" };
const folder = mkdtempSync(path.join(tmpdir(), "selfnorm-page-"));
process.on("exit", () => rmSync(folder, { recursive: true }));

export function pageOfText(name, text) {
  assert.ok(process.env.SELFNORM_PAGE, "SELFNORM_PAGE names the template (node build.mjs FILE)");
  const template = readFileSync(process.env.SELFNORM_PAGE, "utf8");
  const file = path.join(folder, `${name}.html`);
  writeFileSync(file, template.replace("{{DATA}}", () => text.replace(/[<>&\u2028\u2029]/g, (c) => escapes[c])));
  return file;
}

export const pageOf = (name, data) => pageOfText(name, JSON.stringify({ ...data, version: "0.0.0-test" }));

// A document of these figures and tables.
export const documentOf = ({ figures = [], tables = [], ...rest }) => ({
  format: 1, name: "run", command: "test", title: "A test", sections: [{ title: "Section", figures, tables }], ...rest,
});

export const figureOf = (id, series, panel = {}) => ({
  id, title: `Figure ${id}`, look: "What to look for.",
  panels: [{ x: { label: "step" }, y: { label: "loss" }, series, ...panel }],
});
