import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { validateWorkflow } from "@action-validator/core";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { describe, expect, it } from "vitest";
import { ROOT } from "../test/cli/art-e.js";

/**
 * Everything that reaches users in addition to the program: the bill of materials, the built files, and the publishing
 * workflows.
 */

const readText = (path: string) => readFileSync(join(ROOT, path), "utf8");

describe("dist/sbom.cdx.json", () => {
  const text = readText("dist/sbom.cdx.json");
  const { components, dependencies, metadata, serialNumber } = JSON.parse(text);
  const purls = (placement: string): string[] =>
    components
      .filter(({ properties }: { properties: { value: string }[] }) => properties[0]?.value === placement)
      .map(({ purl }: { purl: string }) => decodeURIComponent(purl));

  it("matches the CycloneDX 1.6 schema", async () => {
    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
    expect(await validator.validate(text)).toBeNull();
    expect(await validator.validate(text.replace('"library"', '"librari"'))).not.toBeNull();
  });

  it("lists every bundled package with its version", () => {
    const licenses = readText("dist/THIRD_PARTY_LICENSES.txt");
    const builtIn = [...licenses.matchAll(/^(\S+) (\d+\.\d+\.\d+\S*) \(.+\)$/gm)].map(
      ([, name, version]) => `pkg:npm/${name}@${version}`,
    );
    expect(builtIn.length).toBeGreaterThan(80);
    expect(purls("built in")).toEqual(expect.arrayContaining(builtIn));
    // d3's own build in the report contains its parts.
    expect(purls("built in").map((purl) => purl.replace(/@[^@]+$/, ""))).toEqual(
      expect.arrayContaining(["pkg:npm/d3", "pkg:npm/d3-scale", "pkg:npm/diff"]),
    );
  });

  it("lists every package that npm installs, and no optional peer", () => {
    const { dependencies: named } = JSON.parse(readText("package.json"));
    const installed = purls("installed by npm").map((purl) => purl.replace(/^pkg:npm\/|@[^@]+$/g, ""));
    expect(installed).toEqual(expect.arrayContaining(Object.keys(named)));
    expect(installed).not.toContain("bullmq");
  });

  it("lists dependencies, and nothing that differs between two builds", () => {
    const refs = new Set(components.map((component: { "bom-ref": string }) => component["bom-ref"]));
    const needed = dependencies.flatMap(({ dependsOn = [] }: { dependsOn?: string[] }) => dependsOn);
    expect(needed.filter((ref: string) => !refs.has(ref))).toEqual([]);
    expect(new Set(needed).size).toBe(components.length);
    expect([metadata.timestamp, serialNumber, text.includes(ROOT)]).toEqual([undefined, undefined, false]);
  });
});

it("built files do not refer to source maps, because the package does not contain any", () => {
  const files = readdirSync(join(ROOT, "dist"), { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.m?js$/.test(name),
  );
  expect(files.length).toBeGreaterThan(200);
  const mapped = files.filter((name) => /^\/\/# sourceMappingURL/m.test(readText(`dist/${name}`)));
  expect(mapped).toEqual([]);
});

it("lockfiles do not specify a registry", () => {
  for (const path of ["package-lock.json", "node-20/package-lock.json"]) {
    expect(readText(path)).not.toContain('"resolved": "http');
  }
});

it("the lockfile contains better-sqlite3 13, and prevents npm from compiling it", () => {
  // npm forgets `gypfile` when it writes the file, and would then compile on every installation, despite the binaries.
  const { version, gypfile } = JSON.parse(readText("package-lock.json")).packages["node_modules/better-sqlite3"];
  expect({ version, gypfile }).toEqual({ version: expect.stringMatching(/^13\./), gypfile: false });
});

it("a dry run of publishing contains the program, its pages and their sources of truth, and nothing of the project", {
  tags: ["slow"],
}, () => {
  const dryRun = ["publish", "--dry-run", "--json", "--ignore-scripts", "--registry", "http://127.0.0.1:9"];
  const { name, bin, exports } = JSON.parse(readText("package.json"));
  const published = JSON.parse(execFileSync("npm", dryRun, { cwd: ROOT, encoding: "utf8", stdio: "pipe" }));
  // npm 10 and 11 print the package, later ones by its name.
  const files: { path: string; mode: number }[] = (published[name] ?? published).files;
  const paths = files.map(({ path }) => path);
  const entries = Object.values(exports as Record<string, string | Record<string, string>>).flatMap((entry) =>
    Object.values(typeof entry === "string" ? { default: entry } : entry),
  );
  const named = [...Object.values(bin as Record<string, string>), ...entries].map((path) => path.replace(/^\.\//, ""));
  const wanted = [...named.filter((path) => !path.includes("*")), "SKILL.md", "llms.txt", "docs/recipes.md", "LICENSE"];
  expect(wanted.filter((path) => !paths.includes(path))).toEqual([]);
  expect(paths.filter((path) => /^(src|test|bench|soak|node_modules|\.github)\/|\.map$|\.db$/.test(path))).toEqual([]);
  expect(readText(".github/workflows/release.yml")).toContain("npm publish --provenance");
});

it("workflows match GitHub's schema", () => {
  for (const name of readdirSync(join(ROOT, ".github/workflows"))) {
    const text = readText(`.github/workflows/${name}`);
    expect([name, validateWorkflow(text)]).toEqual([name, { actionType: "workflow", errors: [] }]);
    expect(validateWorkflow(text.replace("runs-on", "run-on")).errors).not.toEqual([]);
  }
});
