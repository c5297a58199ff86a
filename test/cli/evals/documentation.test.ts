import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { FEATURES } from "../../../src/evals/features.js";
import { TEMPLATES } from "../../../src/evals/templates.js";
import { ROOT, workFolder } from "../art-e.js";
import { documentedCommands, firstMissing } from "../documented-commands.js";

const { artE, path } = workFolder();
const read = (page: string) => readFileSync(join(ROOT, "docs", page), "utf8");
const PAGE = read("evals.md");

const typed = documentedCommands(PAGE);

/** The page shows two missed gates. */
const GATES = /--fail-under/;

describe("the pages about evals", () => {
  beforeAll(() => symlinkSync(join(ROOT, "fixtures"), path("fixtures")));

  it("shows commands with their actual output", async () => {
    expect(typed.length).toBeGreaterThan(10);
    let variables = {};
    for (const { line, shown } of typed) {
      const [, name, value] = /^export (\w+)=(.*)$/.exec(line) ?? [];
      if (name !== undefined) {
        variables = { ...variables, [name]: value };
        continue;
      }
      const { code, stdout, stderr } = await artE(line.replace(/^art-e /, ""), variables);
      expect({ line, code, stderr: code === 0 ? "" : stderr }).toEqual({
        line,
        code: GATES.test(line) ? 3 : 0,
        stderr: GATES.test(line) ? expect.stringContaining("missed 1 of 1 gates") : "",
      });
      expect({ line, missing: firstMissing(shown, stdout) }).toEqual({ line, missing: null });
    }
  });

  it("lists all features and the number of templates", () => {
    const files = read("eval-files.md");
    const named = [...files.matchAll(/^\| `(\w+)` \| /gm)].map(([, name]) => name);
    expect(named).toEqual(expect.arrayContaining(Object.keys(FEATURES)));
    for (const [name, { meaning }] of Object.entries(FEATURES)) expect(files).toContain(`| \`${name}\` | ${meaning} |`);
    expect(read("make-evals.md")).toContain(`There are ${TEMPLATES.length} templates`);
  });
});
