import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { FEATURES } from "../../../src/evals/features.js";
import { TEMPLATES } from "../../../src/evals/templates.js";
import { ROOT, workFolder } from "../art-e.js";

const { artE, path } = workFolder();
const PAGE = readFileSync(join(ROOT, "docs/evals.md"), "utf8");

interface Typed {
  readonly line: string;
  /** Lines of output that the page shows; `...` stands for others. */
  readonly shown: readonly string[];
}

const typed = [...PAGE.matchAll(/```console\n(.*?)```/gs)].flatMap(([, block = ""]) =>
  block.split(/^\$ /m).flatMap((part): Typed[] => {
    const [line = "", ...shown] = part.trimEnd().split("\n");
    return line === "" ? [] : [{ line, shown: shown.filter((one) => one !== "" && one !== "...") }];
  }),
);

/** A gate that is missed, twice, is what the page is about. */
const GATES = /--fail-under/;

describe("the page on evals", () => {
  beforeAll(() => symlinkSync(join(ROOT, "fixtures"), path("fixtures")));

  it("shows commands that do what it says", async () => {
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
      const printed = stdout.split("\n");
      expect({ line, missing: shown.filter((one) => !printed.includes(one)) }).toEqual({ line, missing: [] });
    }
  });

  it("names all features, and the number of templates", () => {
    const named = [...PAGE.matchAll(/^\| `(\w+)` \| /gm)].map(([, name]) => name);
    expect(named).toEqual(expect.arrayContaining(Object.keys(FEATURES)));
    for (const [name, { meaning }] of Object.entries(FEATURES)) expect(PAGE).toContain(`| \`${name}\` | ${meaning} |`);
    expect(PAGE).toContain(`There are ${TEMPLATES.length} templates`);
  });
});
