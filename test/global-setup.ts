import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { DEMO_MAIL, importInto } from "./runs/demo-setup.js";
import { shareBrowser } from "./shared-browser.js";

/** What most test files need, made once: the demo mail in a database, and a browser. */

declare module "vitest" {
  interface ProvidedContext {
    /** The file. Copy it, never open it. The folder `bin` next to it contains the program. */
    demoDatabase: string;
    /** Responds with the URL of a browser that all test files share. */
    browserUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-demo-"));
  const file = join(folder, "art-e.db");
  (await importInto(file, DEMO_MAIL)).close();
  project.provide("demoDatabase", file);
  mkdirSync(join(folder, "bin"));
  symlinkSync(join(import.meta.dirname, "../bin/art-e.js"), join(folder, "bin/art-e"));
  const browser = await shareBrowser();
  project.provide("browserUrl", browser.url);
  return async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  };
}
