// The tests of parts of the page that need no browser: node web/test/unit.mjs
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = mkdtempSync(join(tmpdir(), "ductile-page-"));
const bundle = join(folder, "units.test.mjs");
const run = (program, ...options) => spawnSync(program, options, { stdio: "inherit" }).status ?? 1;
let status = run(
  "esbuild",
  fileURLToPath(new URL("units.test.ts", import.meta.url)),
  "--bundle",
  "--platform=node",
  "--format=esm",
  "--log-level=warning",
  `--outfile=${bundle}`,
);
if (status === 0) status = run(process.execPath, "--test", bundle);
rmSync(folder, { recursive: true });
process.exit(status);
