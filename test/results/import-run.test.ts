import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import type { AppContext } from "../../src/platform/app-context.js";
import { importTraces } from "../../src/results/import-run.js";
import { openEmpty } from "../runs/demo-setup.js";
import { ANSWERED } from "../trace-formats/traces.js";

it("notes only once that an import of traces waits for another program", async () => {
  const test = openEmpty();
  try {
    const file = join(test.folder, "traces.jsonl");
    writeFileSync(file, `${JSON.stringify(ANSWERED)}\n`);
    const notes: string[] = [];
    const { signal } = new AbortController();
    const context = { settings: { db: test.db.name }, note: (text: string) => notes.push(text), signal };
    test.db.exec("BEGIN IMMEDIATE");
    const importing = importTraces(file, context as unknown as AppContext);
    await delay(1_500);
    test.db.exec("COMMIT");
    expect(await importing).toMatchObject({ traces: 1 });
    expect(notes).toEqual([expect.stringContaining(`writing to ${test.db.name}`)]);
  } finally {
    test.close();
  }
});
