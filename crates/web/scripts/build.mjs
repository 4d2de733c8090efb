// Makes the files of `crates/web/assets` that are not written by hand: the pages' scripts from `src`, and the
// libraries from their npm packages, unchanged. `tsc` checks types before; here they are only removed.
//
// CARILLON_ASSETS: another folder to write to.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const assets = process.env.CARILLON_ASSETS ?? join(here, "../assets");

/** The pages' scripts and the element for other pages, each a bundle without imports. */
const SCRIPTS = ["carillon", "list", "operator", "player", "publish"];
/** Scripts large enough to be sent compressed. */
const PACKED = ["player.js"];

/** What is served or committed of each library: the file in its package, and its name here. */
const LIBRARIES = [
  ["hls.js/dist/hls.light.min.js", "hls.light.min.js"],
  ["hls.js/LICENSE", "hls.LICENSE"],
  ["mpegts.js/dist/mpegts.js", "mpegts.js"],
  ["mpegts.js/dist/mpegts.js.LICENSE.txt", "mpegts.js.LICENSE.txt"],
  ["mpegts.js/LICENSE", "mpegts.LICENSE"],
];
const PACKED_LIBRARIES = ["hls.light.min.js", "mpegts.js"];

/** gzip's own program, because other encoders write other bytes. */
const pack = (folder, name) => {
  const packed = execFileSync("gzip", ["-9", "-n", "-c", join(folder, name)], { maxBuffer: 1 << 24 });
  writeFileSync(join(folder, `${name}.gz`), packed);
  return `${name}.gz`;
};

/** Writes the checksums of files as `sha256sum` does. */
const sum = (folder, names) => {
  const line = (name) =>
    `${createHash("sha256").update(readFileSync(join(folder, name))).digest("hex")}  ${name}\n`;
  writeFileSync(join(folder, "SHA256SUMS"), [...names].sort().map(line).join(""));
};

const vendor = join(assets, "vendor");
mkdirSync(vendor, { recursive: true });

await build({
  entryPoints: SCRIPTS.map((name) => join(here, "src", `${name}.ts`)),
  outdir: assets,
  absWorkingDir: here,
  bundle: true,
  format: "iife",
  target: "es2020",
  charset: "utf8",
  legalComments: "none",
  banner: { js: "// Made from crates/web/scripts/src by `npm run build`; do not edit." },
  logLevel: "warning",
});
const scripts = SCRIPTS.map((name) => `${name}.js`);
sum(assets, [...scripts, ...PACKED.map((name) => pack(assets, name))]);

for (const [from, to] of LIBRARIES) copyFileSync(join(here, "node_modules", from), join(vendor, to));
sum(vendor, [...LIBRARIES.map(([, to]) => to), ...PACKED_LIBRARIES.map((name) => pack(vendor, name))]);
