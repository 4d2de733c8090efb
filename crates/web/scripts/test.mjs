// Runs `tests`: the modules that need no page are bundled into a temporary folder, which tests import from.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "carillon-web-"));
const modules = ["attempts", "live", "qr", "watchdog", "ways", "words"];

try {
  await build({
    entryPoints: modules.map((name) => join(here, "src", `${name}.ts`)),
    outdir: folder,
    bundle: true,
    format: "esm",
    outExtension: { ".js": ".mjs" },
    logLevel: "warning",
  });
  const tests = readdirSync(join(here, "tests")).map((name) => join(here, "tests", name));
  const run = spawnSync(process.execPath, ["--test", "--test-reporter=spec", ...tests], {
    stdio: "inherit",
    env: { ...process.env, CARILLON_MODULES: folder },
  });
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
