import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { machinesStart } from "../../suites/machines-start.js";
import { ROOT, workFolder } from "../art-e.js";

/** The sample of the page on task suites: the demo's oracle file is graded as it says. */

const { artE, path } = workFolder();
const PAGE = readFileSync(join(ROOT, "docs/task-suites.md"), "utf8");
const [, line = "", shown = ""] = /^\$ art-e (suite check \S+ --oracle \S+)\n(.+)$/m.exec(PAGE) ?? [];

it("grades every line of the demo's oracle file as it expects", needs("sandbox", machinesStart), async () => {
  symlinkSync(join(ROOT, "fixtures"), path("fixtures"));
  expect(shown).toMatch(/^\d+ equal, 0 different, 0 skipped$/);
  const { code, stdout } = await artE(line);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${shown}\n` });
});
