import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { BY_PERSON } from "../../src/evals/definition.js";
import { importEvals } from "../../src/evals/eval-files.js";
import { openStore } from "../../src/store/open-store.js";

const folder = mkdtempSync(join(tmpdir(), "art-e-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("importEvals reads a file of 16,000,000 bytes, but not a larger one", async () => {
  const settings = { db: join(folder, "evals.db"), cacheDir: folder, agentStderr: null, env: {} };
  openStore(settings.db, { mustExist: false }).close();
  const pass = { all: [{ feature: "sources", at_least: 1 }] };
  const definition = { name: "large", version: 1, kind: "rules", reference: false, criterion: "It cites." };
  const text = JSON.stringify({ ...definition, pass, origin: BY_PERSON });
  const path = join(folder, "large.json");
  const importOf = (bytes: number) => {
    writeFileSync(path, text.padEnd(bytes));
    return importEvals([path], settings, new AbortController().signal);
  };
  expect(await importOf(16_000_000)).toMatchObject([{ path, isNew: true, stored: { definition } }]);
  await expect(importOf(16_000_001)).rejects.toThrow(
    `Cannot read the eval ${path}: the file is larger than 16000000 bytes.`,
  );
});
