import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { DEMO_MAIL, importInto } from "./runs/demo-setup.js";

/** The demo mail in a database, imported once for all tests, because most need it and none tests its import. */

declare module "vitest" {
  interface ProvidedContext {
    /** The file. Copy it, never open it. */
    demoDatabase: string;
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-demo-"));
  const file = join(folder, "art-e.db");
  (await importInto(file, DEMO_MAIL)).close();
  project.provide("demoDatabase", file);
  return () => rmSync(folder, { recursive: true });
}
