// Bundles src/main.ts and src/style.css into one HTML file, the template of every page: `node build.mjs [OUT]`.
// The program puts the data in the place of {{DATA}} (include/selfnorm/report/page.h).
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";

const out = process.argv[2] ?? "page.html";
const options = { bundle: true, minify: true, write: false, target: "es2021", legalComments: "none" };
const script = await build({ ...options, entryPoints: ["src/main.ts"], format: "iife", charset: "ascii" });
const style = await build({ ...options, entryPoints: ["src/style.css"] });
const parts = { SCRIPT: script.outputFiles[0].text, STYLE: style.outputFiles[0].text };
const template = await readFile("src/page.html", "utf8");
const page = template.replace(/\{\{(SCRIPT|STYLE)\}\}/g, (_, name) => parts[name]);

// esbuild writes its texts so that they do not end the element they are in.
for (const [name, text] of Object.entries(parts)) {
  const end = /<\/(script|style)|<!--/i.exec(text);
  if (end) throw new Error(`${name} has '${end[0]}', which would end its element; write it in another way`);
}
const places = page.split("{{DATA}}").length - 1;
if (places !== 1) throw new Error(`the page has ${places} places {{DATA}}; expected one, in src/page.html`);
await writeFile(out, page);
