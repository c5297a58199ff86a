import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { Finding } from "../../../src/mail/integrity.js";
import { Database } from "../../../src/store/sqlite.js";
import { needs } from "../../machine-requirements.js";
import { seeded } from "../../random.js";
import { jsonLines, MARCUS, workFolder } from "../art-e.js";
import { copyDamaged, type Damage, damagesOf } from "./damaged-files.js";

/**
 * Damaged databases and every command that reads one. Whatever the damage, a command names it and what to do, and never
 * calls it a bug. ART_E_LONG=1 runs all combinations, otherwise a part of them.
 */

/** One in N combinations of a damage and a command. */
const [PART, SLOW_PART] = process.env.ART_E_LONG ? [1, 1] : [120, 12];

const COMMANDS = [
  "runs list",
  "runs show latest",
  "show latest/1",
  "stats --corpus",
  "stats --run latest",
  "report latest -o report.html --overwrite",
  "report latest -o report.md --overwrite",
  "report latest -o report.csv --overwrite",
  "export-traces -o traces.jsonl --overwrite",
  "export-traces --format otlp -o traces.otlp.jsonl --overwrite",
  "export-results latest -o tables --overwrite",
  `search ${MARCUS} base quantity`,
  "compare latest --published",
  "agents list",
  "agents show email-search",
  "tools list",
  "tools show email_search",
  "evals list",
  "evals label --list",
  "evals modes",
  "evals suggest",
  "score --run latest -o scored.json --overwrite",
  "gate latest --fail-under exactMatch=0",
  "doctor",
] as const;

const RAW = /This is a bug|TypeError|ZodError|Cannot read prop|is not iterable|undefined/;

const { artE, path } = workFolder({ demo: "labeled" });

let damages: readonly Damage[] = [];
beforeAll(async () => {
  expect((await artE("evals add mentions --contains x --quiet")).code).toBe(0);
  await artE("evals test mentions --quiet");
  damages = damagesOf(path("art-e.db"), seeded(20_261_126));
});

function change(sql: string, ...values: unknown[]): void {
  copyFileSync(path("art-e.db"), path("damaged.db"));
  const db = new Database(path("damaged.db"));
  // The rows that belong to a lost row stay.
  db.pragma("foreign_keys = OFF");
  db.prepare(sql).run(...values);
  db.close();
}

function ids(sql: string, file = "art-e.db"): string[] {
  const db = new Database(path(file), { readonly: true });
  try {
    return db.prepare(sql).pluck().all() as string[];
  } finally {
    db.close();
  }
}

describe("a command that reads a damaged database", () => {
  it("exports the other traces if one is damaged, and names it", async () => {
    const [damaged = "", ...others] = ids("SELECT id FROM traces ORDER BY id");
    change("UPDATE traces SET trace = substr(trace, 1, 100) WHERE id = ?", damaged);
    const { code, stdout, stderr } = await artE("export-traces --db damaged.db");
    expect(code).toBe(0);
    expect(
      jsonLines(stdout)
        .map(({ traceId }) => traceId)
        .sort(),
    ).toEqual(others);
    expect(stderr).toContain(`table traces, row ${damaged}, column trace: it is not JSON.`);
  });

  it("lists runs if a result is damaged, and names it", async () => {
    const [runId = ""] = ids("SELECT id FROM runs");
    change("UPDATE results SET result = 'x' WHERE task_id = 7");
    const { code, stdout, stderr } = await artE("runs list --db damaged.db");
    expect({ code, isListed: stdout.includes(runId) }).toEqual({ code: 0, isListed: true });
    expect(stderr).toContain(`table results, row ${runId}/7/1, column result: it is not JSON.`);
  });

  it("names the requested trace if it is damaged", async () => {
    change("UPDATE traces SET trace = '{}' WHERE task_id = 7");
    const { code, stderr } = await artE("show latest/7 --db damaged.db");
    expect(code).toBe(1);
    expect(stderr).toMatch(/table traces, row trace_\S+, column trace: the property traceId is missing/);
    expect(stderr).toContain("docs/troubleshooting.md");
  });

  /** Runs one in `part` combinations of a damage and a command. */
  async function expectClearErrors(part: number): Promise<void> {
    const all = damages.flatMap((damage, i) => COMMANDS.map((command, j) => ({ damage, command, number: i + j })));
    const some = all.filter(({ number }) => number % part === 0);
    expect(some.length).toBeGreaterThan(30);
    const failures: string[] = [];
    for (const { damage, command } of some) {
      copyDamaged(path("art-e.db"), path("damaged.db"), damage);
      const { code, stderr } = await artE(`${command} --db damaged.db --no-progress`);
      if (code === null || RAW.test(stderr))
        failures.push(`${damage.name}: art-e ${command}: ${code} ${stderr.slice(0, 300)}`);
    }
    expect(failures).toEqual([]);
  }

  const CLEAR = "ends with a result, or with an error that names the damage";
  it(CLEAR, { timeout: 600_000 }, () => expectClearErrors(PART));
  it(`${CLEAR}, for more damages`, { tags: ["slow"] }, () => expectClearErrors(SLOW_PART));
});

/** Zeroes the first pages of a kind of a table. */
function zeroPages(table: string, kind: string, count: number): void {
  copyFileSync(path("art-e.db"), path("damaged.db"));
  const db = new Database(path("damaged.db"));
  const pages = db
    .prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY pageno LIMIT ?")
    .pluck()
    .all(table, kind, count) as number[];
  db.close();
  const bytes = readFileSync(path("damaged.db"));
  for (const page of pages) bytes.fill(0, (page - 1) * 4096, page * 4096);
  writeFileSync(path("damaged.db"), bytes);
}

describe("art-e doctor on a damaged database", () => {
  it("reports what SQLite's integrity check finds", async () => {
    zeroPages("traces", "leaf", 2);
    const { code, stdout } = await artE("doctor --json --quiet --db damaged.db");
    expect(code).toBe(1);
    const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] };
    expect(findings[0]).toMatchObject({ check: "SQLite integrity", ok: false });
    expect(findings[0]?.detail).toMatch(/page \d+/i);
  });

  it("names a file whose header is damaged", async () => {
    const damage = damages.find(({ name }) => name === "a wrong page size in the header");
    copyDamaged(path("art-e.db"), path("damaged.db"), damage as Damage);
    const { code, stdout } = await artE("doctor --db damaged.db --quiet");
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/^Database: +BAD: .*damaged.db/m) });
  });

  it("finds no faults in the rows that SQLite's shell recovers", needs("sqlite3"), async () => {
    zeroPages("traces", "leaf", 2);
    const sqlite = (args: readonly string[], input?: string) =>
      execFileSync("sqlite3", args, { encoding: "utf8", input, maxBuffer: 1e9, stdio: ["pipe", "pipe", "ignore"] });
    rmSync(path("saved.db"), { force: true });
    const version = ids("PRAGMA user_version")[0];
    // Debian's shell does not support `.recover`.
    const dump = sqlite([path("damaged.db"), ".dump"]).replace(/^ROLLBACK; -- due to errors/m, "COMMIT;");
    sqlite([path("saved.db")], dump);
    sqlite([path("saved.db"), `PRAGMA application_id = 1634890853; PRAGMA user_version = ${version}`]);
    for (const table of ["results", "eval_labels", "eval_traces", "eval_anchors", "coding_notes", "feedback"]) {
      sqlite([path("saved.db"), `DELETE FROM ${table} WHERE trace_id NOT IN (SELECT id FROM traces)`]);
    }
    const { code, stdout } = await artE("doctor --repair --db saved.db --quiet");
    expect(stdout).not.toContain("BAD");
    expect(code).toBe(0);
    const exported = (await artE("export-traces --db saved.db")).stdout.trim().split("\n").length;
    expect(exported).toBeGreaterThan(60);
  });
});
