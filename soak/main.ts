import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { writeKaggleCsv } from "../bench/synthetic-corpus.js";
import { growth } from "./growth.js";
import { pace } from "./pace.js";
import { queueSoak } from "./queue.js";

/**
 * `npm run soak -- [kill|pace|growth|queue|all] [--minutes N] [--tasks N] [--at-once N] [--kills N] [--seed N]`:
 * full-size stress tests for overnight runs, in real time. The tests contain short forms of them.
 */

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const BIN = join(ROOT, "bin/art-e.js");

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: "string", default: "5" },
    tasks: { type: "string", default: "55244" },
    "at-once": { type: "string", default: "256" },
    kills: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
  },
});
const what = positionals[0] ?? "all";
if (!["kill", "pace", "growth", "queue", "all"].includes(what)) {
  console.error(
    "usage: npm run soak -- [kill|pace|growth|queue|all] [--minutes N] [--tasks N] [--at-once N] [--kills N]",
  );
  process.exit(2);
}
const asked = (name: string) => what === name || what === "all";
const print = (name: string, figures: unknown) => console.log(JSON.stringify({ [name]: figures }, null, 2));

const folder = mkdtempSync(join(tmpdir(), "art-e-soak-"));
try {
  if (asked("kill")) {
    const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
    execFileSync(process.execPath, [vitest, "run", "test/cli/runs/kill-and-resume.test.ts", "--reporter=verbose"], {
      cwd: ROOT,
      env: { ...process.env, ART_E_SLOW: "1", ART_E_LONG: "1" },
      stdio: "inherit",
    });
  }
  if (asked("pace") || asked("growth") || asked("queue")) {
    const db = await corpus();
    if (asked("pace")) print("pace", await pace(BIN, db, folder, { rpm: 600, minutes: Number(values.minutes) }));
    if (asked("growth")) {
      const size = { tasks: Number(values.tasks), atOnce: Number(values["at-once"]) };
      print("growth", await growth(BIN, db, folder, size));
    }
    if (asked("queue")) {
      // Long enough for the kills: about fifty tasks per second, with less than two seconds between two kills.
      const kills = Number(values.kills);
      print("queue", await queueSoak(BIN, db, folder, { tasks: 60 * kills, kills, seed: Number(values.seed) }));
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function corpus(): Promise<string> {
  const csv = join(folder, "mail.csv");
  const db = join(folder, "mail.db");
  if (!existsSync(db)) {
    await writeKaggleCsv(csv, { mails: 20_000, seed: 1 });
    execFileSync(process.execPath, [BIN, "import", csv, "--db", db, "--quiet"], { stdio: "ignore" });
  }
  return db;
}
