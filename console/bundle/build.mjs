// Bundles the libraries: the same input gives the same bytes, which SHA256SUMS names.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const out = "../linkscore_console/static/vendor";
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const { metafile } = await build({
  entryPoints: ["cytoscape.js", "uplot.js"],
  outdir: out, bundle: true, minify: true, format: "esm", target: "es2022", charset: "utf8", legalComments: "none", metafile: true,
});
copyFileSync("node_modules/uplot/dist/uPlot.min.css", join(out, "uplot.css"));

// Every package whose code is in the bundles, with its licence.
const names = new Set(
  Object.keys(metafile.inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]).filter(Boolean),
);
const notices = [...names].sort().map((name) => {
  const home = join("node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  const file = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license"].map((one) => join(home, one)).find(existsSync);
  return `${name} ${version} (${license})\n\n${file ? readFileSync(file, "utf8").trim() : ""}\n`;
});
writeFileSync(join(out, "LICENSES.txt"), notices.join(`\n${"-".repeat(80)}\n\n`));

const sums = readdirSync(out).sort().map((name) => `${createHash("sha256").update(readFileSync(join(out, name))).digest("hex")}  ${name}`);
writeFileSync(join(out, "SHA256SUMS"), `${sums.join("\n")}\n`);
