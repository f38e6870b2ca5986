// Reports in chromium. What a page complains about or asks for is kept: a report does neither.
import { accessSync, constants } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

function programOf(name) {
  for (const folder of (process.env.PATH ?? "").split(path.delimiter)) {
    try {
      accessSync(path.join(folder, name), constants.X_OK);
      return path.join(folder, name);
    } catch {
      continue;
    }
  }
  return undefined;
}

const executablePath = process.env.CHROMIUM ?? programOf("chromium");

// Why the tests of this folder are skipped, or false. tests/CMakeLists.txt looks for these words.
export const missing = executablePath ? false : "chromium is missing (Debian: apt-get install chromium)";

export const launched = () => chromium.launch({ executablePath, chromiumSandbox: false });

// The page of `file` at `width` pixels, drawn; `trouble` grows with what it does that a report may not do.
export async function opened(browser, file, { width = 1280, dark = false } = {}) {
  const url = pathToFileURL(file).href;
  const context = await browser.newContext({
    viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light", acceptDownloads: true,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  const trouble = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) trouble.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => trouble.push(`thrown: ${error.message}`));
  page.on("dialog", (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (request.url() !== url && !/^(data|blob):/.test(request.url())) trouble.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  await drawn(page);
  return { page, trouble, close: () => context.close() };
}

// Every panel has its picture, at the width it has now (src/figure.ts waits until a width has settled), or says why not.
export async function drawn(page) {
  await page.locator("main#report h1").waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll("main .plot")].every((plot) => {
    const svg = plot.querySelector("svg");
    return plot.querySelector(".unable") || svg && Math.abs(svg.clientWidth - Math.max(160, plot.clientWidth)) <= 1;
  }));
}
