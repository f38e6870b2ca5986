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

// What commands leave, and the figures and tables that a reader must find in it.
const reports = [
  {
    name: "classifier", file: "light/report.html",
    shows: ["figure-loss", "figure-log-z-histogram", "figure-log-z-norm", "figure-log-z-confidence", "figure-raw-exact",
      "figure-reliability", "table-worst"],
  },
  {
    name: "noise", file: "noise/report.html", shows: ["figure-loss", "figure-log-z-histogram"],
    commands: [["train", "classifier", "data.svm", "--objective", "snl", "--samples", "3", "--epochs", "3", "--out", "noise"]],
  },
  {
    name: "density", file: "moons/report.html", shows: ["figure-loss", "figure-density", "figure-normalizer-estimates"],
    commands: [
      ["data", "generate", "--toy", "two-moons", "--rows", "1000", "--out", "moons.csv"],
      ["train", "density", "moons.csv", "--steps", "100", "--energy", "mlp:16", "--out", "moons"],
    ],
  },
  {
    name: "regressor", file: "task/report.html",
    shows: ["figure-loss", "figure-fan", "figure-pit", "figure-coverage", "figure-normalizer"],
    commands: [
      ["data", "generate", "--regression", "task1", "--rows", "400", "--out", "task.csv"],
      ["train", "regressor", "task.csv", "--epochs", "20", "--out", "task"],
    ],
  },
  {
    name: "audit", file: "heavy/report.html", shows: ["figure-loss", "figure-log-z-histogram", "table-worst"],
    commands: [["audit", "heavy", "data.svm"]],
  },
  {
    name: "normalize", file: "normalize.html", shows: ["figure-log-z-histogram"],
    commands: [["normalize", "light", "-o", "normal.safetensors", "--json"], ["report", "printed.json", "-o", "normalize.html"]],
  },
  {
    name: "reproduce", file: "theorem4.html", shows: [],
    commands: [["reproduce", "theorem4", "--out", "theorem4"], ["report", "theorem4", "-o", "theorem4.html"]],
  },
  {
    name: "compared", file: "compared.html", shows: ["figure-loss", "figure-trade-off", "figure-log-z-histogram"],
    commands: [["report", "light", "heavy", "-o", "compared.html"]],
  },
  {
    name: "many-inputs", file: "report.html", shows: ["figure-log-z-histogram", "figure-log-z-norm"],  // 100,000
    commands: [
      ["data", "generate", "--rows", "100000", "--features", "20", "--classes", "4", "--density", "0.2", "--out", "many.svm"],
      ["audit", "many.svm.truth.safetensors", "many.svm"],
    ],
  },
];

for (const { name, file, shows, commands = [] } of reports) {
  test(`the report: ${name}`, { skip: missing }, async () => {
    for (const words of commands) writeFileSync(at("printed.json"), selfnorm(...words));
    assert.ok(existsSync(at(file)), `${file} was not written`);
    const ids = await reportIsSound(browser, at(file), { name, pictures });
    for (const id of shows) assert.ok(ids.includes(id), `no ${id} in: ${ids}`);
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
