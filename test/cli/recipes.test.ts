import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { llmsText, skillPage } from "../../write-docs/skill.js";
import { MAIL, QUESTIONS, ROOT, workFolder } from "./art-e.js";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** Title and command lines of each recipe in docs/recipes.md. */
const RECIPES = [...read("docs/recipes.md").matchAll(/^## ([^\n]+)\n.*?^```bash\n(.*?)^```/gms)].map(
  ([, title = "", block = ""]) => [title, block.trim().split("\n")] as const,
);

describe("the recipes", () => {
  const { artE, path, write } = workFolder();

  beforeAll(() => {
    cpSync(MAIL, path("maildir"), { recursive: true });
    cpSync(QUESTIONS, path("questions.jsonl"));
    write("labels.jsonl", read("fixtures/demo/labels.jsonl"));
  });

  it("have ten titles", () => expect(RECIPES).toHaveLength(10));

  // In the order of the page, because later recipes use the files of earlier ones.
  it.each(RECIPES)("work as the page shows them (%s)", async (_, lines) => {
    for (const line of lines) {
      const words = line.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', "")) ?? [];
      expect(words[0]).toBe("art-e");
      const { code, stderr } = await artE([...words.slice(1), "--no-progress"]);
      expect({ line, code }, stderr).toEqual({ line, code: 0 });
    }
  });
});

describe("files for coding agents", () => {
  it("contain what npm run docs writes", () => {
    expect(read("SKILL.md")).toBe(skillPage());
    expect(read("llms.txt")).toBe(llmsText());
  });

  it("list every command, every recipe and every page of the index", () => {
    const skill = read("SKILL.md");
    for (const [title] of RECIPES) expect(skill).toContain(`### ${title}\n`);
    expect(skill.match(/^- `art-e \w/gm)?.length).toBeGreaterThan(25);
    expect(read("llms.txt").match(/^- \[/gm)?.length).toBeGreaterThan(35);
  });
});
