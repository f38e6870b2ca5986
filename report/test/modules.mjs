// A module of src/ as node can run it.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

export async function moduleOf(name) {
  const entry = fileURLToPath(new URL(`../src/${name}.ts`, import.meta.url));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: "esm", target: "es2021", write: false });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
