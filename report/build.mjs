// Bundles src/main.ts and src/style.css into one HTML file, the template of every page: `node build.mjs [OUT]`.
// The program puts the data in the place of DATA (include/selfnorm/report/page.h).
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";

const out = process.argv[2] ?? "page.html";
const options = { bundle: true, minify: true, write: false, target: "es2021", legalComments: "none" };
const script = await build({ ...options, entryPoints: ["src/main.ts"], format: "iife", charset: "ascii" });
const style = await build({ ...options, entryPoints: ["src/style.css"] });
const parts = {
  SCRIPT: script.outputFiles[0].text.replaceAll("</script", "<\\/script"),
  STYLE: style.outputFiles[0].text.replaceAll("</style", "<\\/style"),
};
const template = await readFile("src/page.html", "utf8");
await writeFile(out, template.replace(/\{\{(SCRIPT|STYLE)\}\}/g, (_, name) => parts[name]));
