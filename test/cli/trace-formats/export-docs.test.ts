import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { MAIL, QUESTIONS, ROOT, workFolder } from "../art-e.js";

/** The commands on the pages about exports work as they stand there. */

const { artE, path } = workFolder({ mail: MAIL });

beforeAll(async () => {
  const { code, stderr } = await artE(`run -a baseline --dataset ${QUESTIONS} --ids 1,2 --quiet`);
  if (code !== 0) throw new Error(stderr);
});

const PAGES = ["docs/inspect.md", "docs/training.md", "docs/cli/export-traces.md"];

/** Without folders: there is none in the test's. */
const COMMANDS = PAGES.flatMap((page) =>
  [...readFileSync(join(ROOT, page), "utf8").matchAll(/^(?:\$ )?art-e (export-traces .+)$/gm)].map(([, line = ""]) =>
    line.replaceAll(/-o \S*\//g, "-o ").replace(/ --db \S+/, ""),
  ),
);

it.each(COMMANDS)("%s", async (command) => {
  const { code, stderr } = await artE(command);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("written to") });
  expect(existsSync(path(command.split(" -o ")[1]?.split(" ")[0] ?? ""))).toBe(true);
});

it("there are some on each page", () => expect(COMMANDS.length).toBeGreaterThanOrEqual(5));
