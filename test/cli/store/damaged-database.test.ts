import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { RecoveredTable, TableDamage } from "../../../src/runs/database-damage.js";
import { Database } from "../../../src/store/sqlite.js";
import { seeded } from "../../bench/random.js";
import { jsonLines, MARCUS, workFolder } from "../art-e.js";
import { copyDamaged, type Damage, damagesOf } from "./damaged-files.js";

/**
 * Damaged databases and every command that reads one. Whatever the damage, a command names it and what to do, and never
 * calls it a bug. ART_E_LONG=1 runs all combinations, otherwise a part of them.
 */

const PART = process.env.ART_E_LONG ? 1 : 24;

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
  "compare latest latest",
  "agents list",
  "agents show email-search",
  "tools list",
  "tools show email_search",
  "evals list",
  "evals labels",
  "evals criteria",
  "evals suggest",
  "score --run latest -o scored.json --overwrite",
  "gate latest --fail-under exactMatch=0",
  "doctor",
] as const;

const RAW = /This is a bug|TypeError|ZodError|Cannot read prop|is not iterable|undefined/;

const { artE, path } = workFolder({ demo: "labelled" });

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
    expect(stderr).toContain("art-e doctor --recover NEW.db");
  });

  it("ends with a result, or with an error that names the damage", async () => {
    const failures: string[] = [];
    let calls = 0;
    for (const [i, damage] of damages.entries()) {
      for (const [j, command] of COMMANDS.entries()) {
        if ((i + j) % PART !== 0) continue;
        copyDamaged(path("art-e.db"), path("damaged.db"), damage);
        const { code, stderr } = await artE(`${command} --db damaged.db --no-progress`);
        calls++;
        if (code === null || RAW.test(stderr))
          failures.push(`${damage.name}: art-e ${command}: ${code} ${stderr.slice(0, 300)}`);
      }
    }
    expect(calls).toBeGreaterThan(150);
    expect(failures).toEqual([]);
  }, 600_000);
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
  it("reports the faults, and the readable rows of each damaged table", async () => {
    zeroPages("traces", "leaf", 2);
    const { code, stdout } = await artE("doctor --json --quiet --db damaged.db");
    expect(code).toBe(1);
    const { tables } = JSON.parse(stdout) as { tables: TableDamage[] };
    const damaged = tables.filter(({ faults }) => faults.length > 0);
    expect(damaged.map(({ table }) => table)).toEqual(["traces"]);
    const [{ readable = 0, lost = 0, faults = [] } = {}] = damaged;
    expect(faults[0]).toMatch(/page \d+/i);
    expect(lost).toBeGreaterThan(0);
    expect(readable + (lost ?? 0)).toBe(73);
  });

  it("examines a file even if its header is damaged", async () => {
    copyDamaged(path("art-e.db"), path("damaged.db"), headerDamage("page size"));
    const { code, stdout } = await artE("doctor --db damaged.db --quiet");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Database: +BAD: /m);
    expect(stdout).toContain("34 of 34 tables are intact.");
    expect(stdout).toContain("art-e doctor --recover NEW.db");
  });
});

function headerDamage(field: string): Damage {
  const damage = damages.find(({ name }) => name === `a wrong ${field} in the header`);
  if (damage === undefined) throw new Error(`no damage of the ${field}`);
  return damage;
}

describe("art-e doctor --recover", () => {
  async function recover(): Promise<{ tables: Record<string, number>; stderr: string }> {
    for (const ending of ["", "-wal", "-shm"]) rmSync(path(`new.db${ending}`), { force: true });
    const { code, stdout, stderr } = await artE("doctor --recover new.db --db damaged.db --json");
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const { tables } = JSON.parse(stdout) as { tables: RecoveredTable[] };
    return { tables: Object.fromEntries(tables.map((one) => [one.table, one.readable - one.orphans])), stderr };
  }

  async function expectSound(): Promise<void> {
    const { code, stdout } = await artE("doctor --db new.db --json --quiet");
    expect({ code, bad: JSON.parse(stdout).findings.filter(({ ok }: { ok: boolean }) => !ok) }).toEqual({
      code: 0,
      bad: [],
    });
  }

  it("saves the rows on undamaged pages, and leaves a sound database and the damaged file unchanged", async () => {
    zeroPages("traces", "leaf", 2);
    const before = readFileSync(path("damaged.db"));
    const { tables } = await recover();
    expect(tables.mails).toBe(311);
    expect(tables.traces).toBeGreaterThan(60);
    expect(tables.results).toBe(tables.traces);
    expect(readFileSync(path("damaged.db")).equals(before)).toBe(true);
    const whole = ids("SELECT trace FROM traces ORDER BY id");
    for (const trace of ids("SELECT trace FROM traces ORDER BY id", "new.db")) expect(whole).toContain(trace);
    await expectSound();
    expect((await artE("export-traces --db new.db")).stdout.trim().split("\n")).toHaveLength(tables.traces ?? 0);
  });

  it.each([
    "magic string",
    "page size",
    "write version",
    "page count",
    "schema format",
    "user version",
    "application id",
  ])("saves everything if the %s in the header is wrong", async (field) => {
    copyDamaged(path("art-e.db"), path("damaged.db"), headerDamage(field));
    expect((await recover()).tables).toMatchObject({ mails: 311, messages: 516, runs: 1, traces: 73, results: 73 });
    await expectSound();
  });

  it("saves everything if the first page is lost", async () => {
    const zeroes = damages.find(({ name }) => name === "zeroes in the first page") as Damage;
    copyDamaged(path("art-e.db"), path("damaged.db"), zeroes);
    expect((await recover()).tables).toMatchObject({ mails: 311, runs: 1, traces: 73, results: 73 });
    await expectSound();
  });

  it("writes the traces of a lost run to a file that can be imported", async () => {
    change("DELETE FROM runs");
    const { tables } = await recover();
    expect(tables).toMatchObject({ runs: 0, traces: 0 });
    expect((await artE("import-traces new.db.traces.jsonl --db new.db")).code).toBe(0);
    expect((await artE("runs list --db new.db")).stdout).toContain("73/73");
  });

  it("refuses an existing file, and a file that contains no table", async () => {
    copyFileSync(path("art-e.db"), path("there.db"));
    expect(await artE("doctor --recover there.db --db art-e.db")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--recover: there.db already exists."),
    });
    writeFileSync(path("text.db"), "not a database\n".repeat(1000));
    expect(await artE("doctor --recover other.db --db text.db")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Cannot read any table in text.db"),
    });
    expect(existsSync(path("other.db"))).toBe(false);
  });
});
