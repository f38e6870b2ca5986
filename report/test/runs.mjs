// Reports of real runs: SELFNORM_PROGRAM makes them, chromium opens them. SELFNORM_PICTURES keeps screenshots.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { launched, missing, opened } from "./browser.mjs";
import { reportIsSound } from "./checks.mjs";

const program = process.env.SELFNORM_PROGRAM;
const pictures = process.env.SELFNORM_PICTURES;
const folder = mkdtempSync(path.join(tmpdir(), "selfnorm-report-"));
const at = (name) => path.join(folder, name);
const selfnorm = (...words) =>
  execFileSync(program, [...words, "--quiet"], { cwd: folder, encoding: "utf8", maxBuffer: 1 << 28 });
let browser;

before(async () => {
  if (missing) return;
  assert.ok(program, "SELFNORM_PROGRAM names the program");
  browser = await launched();
  selfnorm("data", "generate", "--rows", "600", "--features", "30", "--classes", "5", "--out", "data.svm");
  selfnorm("train", "classifier", "data.svm", "--alpha", "0.1", "--out", "light");
  selfnorm("train", "classifier", "data.svm", "--alpha", "10", "--out", "heavy");
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

// A report that `words` write to `file`, and what a reader of it must find.
const reports = [
  { name: "classifier", file: "light/report.html", sections: ["Training", "Normalisation"] },
  {
    name: "minibatches", file: "noise/report.html", sections: ["Training"],
    commands: [["train", "classifier", "data.svm", "--objective", "snl", "--samples", "3", "--epochs", "3", "--out", "noise"]],
  },
  {
    name: "density", file: "moons/report.html", sections: ["Training"],
    commands: [
      ["data", "generate", "--toy", "two-moons", "--rows", "1000", "--out", "moons.csv"],
      ["train", "density", "moons.csv", "--steps", "100", "--energy", "mlp:16", "--out", "moons"],
    ],
  },
  {
    name: "regressor", file: "task/report.html", sections: ["Training"],
    commands: [
      ["data", "generate", "--regression", "task1", "--rows", "400", "--out", "task.csv"],
      ["train", "regressor", "task.csv", "--epochs", "20", "--out", "task"],
    ],
  },
  {
    name: "audit", file: "heavy/report.html", sections: ["Training", "Normalisation"],
    commands: [["audit", "heavy", "data.svm"]],
  },
  {
    name: "normalize", file: "normalize.html", sections: [], json: "normalize.json",
    commands: [["normalize", "light", "-o", "normal.safetensors", "--json"]],
    last: ["report", "normalize.json", "-o", "normalize.html"],
  },
  {
    name: "reproduce", file: "theorem4.html", sections: [],
    commands: [["reproduce", "theorem4", "--out", "theorem4"], ["report", "theorem4", "-o", "theorem4.html"]],
  },
  {
    name: "compared", file: "compared.html", sections: ["Training", "Normalisation"],
    commands: [["report", "light", "heavy", "-o", "compared.html"]],
  },
  {
    name: "many inputs", file: "report.html", sections: ["Normalisation"],  // 100,000 of them
    commands: [
      ["data", "generate", "--rows", "100000", "--features", "20", "--classes", "4", "--density", "0.2", "--out", "many.svm"],
      ["audit", "many.svm.truth.safetensors", "many.svm"],
    ],
  },
];

for (const { name, file, sections, commands = [], json, last } of reports) {
  test(`the report: ${name}`, { skip: missing }, async () => {
    const printed = commands.map((words) => selfnorm(...words));
    if (json) writeFileSync(at(json), printed[0]);
    if (last) selfnorm(...last);
    assert.ok(existsSync(at(file)), `${file} was not written`);
    await reportIsSound(browser, at(file), { name: name.replace(" ", "-"), pictures });
    const { page, close } = await opened(browser, at(file));
    const titles = await page.locator("main h2").allInnerTexts();
    for (const section of sections) assert.ok(titles.includes(section), `no section '${section}' in: ${titles}`);
    await close();
  });
}

test("names of classes and columns are text", { skip: missing }, async () => {
  const names = ["<img src=x onerror=\"window.hacked=1;alert(1)\">", "</script><script>window.hacked=1</script>",
    "<svg onload=window.hacked=1>"];
  const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
  const rows = Array.from({ length: 300 }, (_, i) => `${i % 3},${(i * 7) % 11},${quoted(names[i % 3])}`);
  writeFileSync(at("hostile.csv"), `<b>a</b>,"=cmd()",label\n${rows.join("\n")}\n`);
  selfnorm("train", "classifier", "hostile.csv", "--target", "label", "--out", "<i>hostile<");
  await reportIsSound(browser, at("<i>hostile</report.html"), { name: "hostile", pictures });
  const { page, close } = await opened(browser, at("<i>hostile</report.html"));
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("main img, main i, main b, main script").count(), 0);
  await close();
});

test("--no-report leaves no page", { skip: missing }, () => {
  selfnorm("train", "classifier", "data.svm", "--out", "quiet", "--no-report");
  assert.ok(!existsSync(at("quiet/report.html")));
});
