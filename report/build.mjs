// Bundles src/main.ts and src/style.css into one HTML file, the template of every page: `node build.mjs [OUT]`.
// The program puts the data in the place of {{DATA}} (include/selfnorm/report/page.h).
import { build } from "esbuild";
import { readdir, readFile, writeFile } from "node:fs/promises";

const out = process.argv[2] ?? "page.html";
const options = { bundle: true, minify: true, write: false, target: "es2021", legalComments: "none" };  // licences are below
const script = await build({ ...options, entryPoints: ["src/main.ts"], format: "iife", charset: "ascii", metafile: true });
const style = await build({ ...options, entryPoints: ["src/style.css"] });
const parts = { SCRIPT: script.outputFiles[0].text, STYLE: style.outputFiles[0].text };

// Names and versions of the packages that share a text, with their lines of copyright, then the text.
async function licences({ inputs }) {
  const folders = new Set(Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .flatMap(([file]) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const owners = new Map();
  for (const folder of [...folders].sort()) {
    const { name, version } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`the package ${name} has no licence file; a page that holds it needs its text`);
    const lines = (await readFile(`${folder}/${file}`, "utf8")).trim().split(/\r?\n/);
    const start = lines.findIndex((line) => /^Copyright/.test(line));
    const owner = start < 0 ? [] : lines.splice(start, 1);
    const text = lines.join(" ").replace(/^(The )?(ISC|MIT) License( \(MIT\))?/i, "").replace(/\s+/g, " ").trim();
    owners.set(text, [...(owners.get(text) ?? []), [`${name} ${version}`, ...owner].join(": ")]);
  }
  return [...owners].map(([text, names]) => `${names.join("\n")}\n\n${text}\n`).join("\n");
}

const notice = await licences(Object.values(script.metafile.outputs)[0]);
if (/--!?>|<!--|\{\{/.test(notice)) throw new Error("a licence would end its comment; write it in another way");
parts.LICENCES = notice;
const template = await readFile("src/page.html", "utf8");
const page = template.replace(/\{\{(SCRIPT|STYLE|LICENCES)\}\}/g, (_, name) => parts[name]);

// esbuild writes its texts so that they do not end the element they are in.
for (const [name, text] of Object.entries(parts)) {
  const end = /<\/(script|style)|<!--/i.exec(text);
  if (end) throw new Error(`${name} has '${end[0]}', which would end its element; write it in another way`);
}
const places = page.split("{{DATA}}").length - 1;
if (places !== 1) throw new Error(`the page has ${places} places {{DATA}}; expected one, in src/page.html`);
await writeFile(out, page);
