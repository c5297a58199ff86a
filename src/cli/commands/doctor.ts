import { existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { Finding } from "../../mail/integrity.js";
import type { Owner } from "../../mail/owners.js";
import type { AppContext } from "../../platform/app-context.js";
import { commandLine } from "../../platform/command-line.js";
import { EXIT, type ExitCode, UserError } from "../../platform/errors.js";
import { toggle } from "../../platform/flag-values.js";
import { compact, presentProperties } from "../../platform/optional-values.js";
import { programVersion } from "../../platform/program-files.js";
import type { Recovery, TableDamage } from "../../runs/database-damage.js";
import type { MachineAvailability } from "../../sandbox/open-task-machine.js";
import type { SandboxChoice } from "../../sandbox/python.js";
import type { Db } from "../../store/open-store.js";
import { count, mailProgress, summaryBox, table } from "../../text/format.js";
import type { CommandContext } from "../command.js";
import { defineCommand } from "../flags/define-command.js";

interface DatabaseFacts {
  readonly file: string;
  readonly fileBytes: number;
  readonly freeBytes: number;
  readonly schemaVersion: number;
  readonly journalMode: string;
  /** Number of owner folders by the way their address was found. `none` counts folders without an address. */
  readonly ownersByBasis: Readonly<Record<string, number>>;
}

interface MachineFacts {
  readonly versions: Readonly<Record<string, string>>;
  /**
   * Sandbox of execute_python. If none is available, `kind` is null and `detail` contains the reason and the next step.
   */
  readonly sandbox: {
    readonly kind: string | null;
    readonly detail: string;
    /** How each limit is enforced, such as `hard` or `watched`. */
    readonly limits?: Readonly<Record<string, string>>;
  };
  /** Machines for suite tasks. */
  readonly snapshots: MachineAvailability;
}

interface DatabaseCheck {
  readonly findings: readonly Finding[];
  readonly facts: DatabaseFacts | Pick<DatabaseFacts, "file">;
  readonly owners: readonly Owner[];
  /** Damage and readable rows per table, or null if the file is intact. */
  readonly tables: readonly TableDamage[] | null;
}

export const doctorCommand = defineCommand(
  z.object({
    repair: toggle.meta({ description: "Rebuild the full-text index, then check" }),
    recover: z
      .string()
      .optional()
      .meta({ description: "Copy every readable row of a damaged database to this new file" }),
    owners: toggle.meta({ description: "List every owner folder with its address and the address's source" }),
  }),
  async (flags, context) => {
    const { db } = context.settings;
    if (flags.recover !== undefined) return recover(flags.recover, context);
    const needsDatabase = flags.repair || flags.owners || existsSync(db);
    const { findings, facts, owners, tables } = needsDatabase
      ? await checkDatabase(flags.repair, context)
      : missing(db);
    const machine = await machineFacts();
    context.out.result({ findings, ...presentProperties({ tables }), ...facts, ...machine, owners }, () => {
      const rows = owners.map(({ folder, address, basis }) => [folder, address ?? "-", basis ?? "not found"]);
      const list = flags.owners ? [table(["folder", "address", "found by"], rows)] : [];
      const damage = tables === null ? [] : [damageText(tables)];
      return [report(findings, facts, machine), ...damage, ...list].join("\n\n");
    });
    return findings.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
  },
);

/** Returns the check's result if the database does not exist. Suites do not need a database. */
function missing(db: string): DatabaseCheck {
  const detail = `there is none at ${db}; ${commandLine`art-e import SOURCE`} makes it. Task suites need none`;
  return { findings: [{ check: "Database", ok: false, detail }], facts: { file: db }, owners: [], tables: null };
}

function report(findings: readonly Finding[], facts: DatabaseCheck["facts"], machine: MachineFacts): string {
  const { sandbox, snapshots, versions } = machine;
  const megabytes = (bytes: number) => `${count(Math.round(bytes / 1e6))} MB`;
  const owners = Object.entries("ownersByBasis" in facts ? facts.ownersByBasis : {});
  const ofFile: [string, string][] =
    "fileBytes" in facts
      ? [
          ["Disk", `${megabytes(facts.fileBytes)} in the file, ${megabytes(facts.freeBytes)} free`],
          ["Tables", `version ${facts.schemaVersion}, journal ${facts.journalMode}`],
        ]
      : [];
  return summaryBox(`ART-E Doctor (${facts.file})`, [
    ...findings.map(({ check, ok, detail }): [string, string] => [check, `${ok ? "ok" : "BAD"}: ${detail}`]),
    ["Owner folders", owners.map(([basis, folders]) => `${folders} by ${basis}`).join(", ") || "none"],
    ["Python sandbox", sandbox.kind === null ? `none: ${sandbox.detail}` : `ok: ${sandbox.detail}`],
    ...Object.entries(sandbox.limits ?? {}).map(([what, how]): [string, string] => [`Sandbox ${what}`, how]),
    ...snapshotRows(snapshots),
    ...ofFile,
    [
      "Versions",
      Object.entries(versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(", "),
    ],
  ]);
}

/** Table rows about the machines for suite tasks, including the command that installs missing parts. */
function snapshotRows({ obstacle, ready, notReady, unavailable, install, withoutPackage }: MachineAvailability) {
  const names = (list: readonly string[]) => list.join(", ") || "none";
  const missing = withoutPackage.length === 0 ? "" : ` (no package: ${withoutPackage.join(", ")})`;
  const rows: [string, string][] = compact([
    ["Task snapshots", obstacle === null ? `ready: ${names(ready)}` : `none: ${obstacle}`],
    ["Not ready", `${names(Object.keys(notReady))}${missing}`],
    ["Not possible", `${names(Object.keys(unavailable))} (need servers)`],
    install !== null && (["To install", install] satisfies [string, string]),
  ]);
  return rows;
}

async function factsOf(db: Db, file: string): Promise<DatabaseFacts> {
  const { listOwners } = await import("../../mail/owners.js");
  const { bavail, bsize } = await statfs(dirname(file));
  const ownersByBasis: Record<string, number> = {};
  for (const { basis } of listOwners(db)) ownersByBasis[basis ?? "none"] = (ownersByBasis[basis ?? "none"] ?? 0) + 1;
  return {
    file,
    fileBytes: statSync(file).size,
    freeBytes: bavail * bsize,
    schemaVersion: db.pragma("user_version", { simple: true }) as number,
    journalMode: db.pragma("journal_mode", { simple: true }) as string,
    ownersByBasis,
  };
}

async function machineFacts(): Promise<MachineFacts> {
  const { chooseSandbox } = await import("../../sandbox/choose-sandbox.js");
  const { machineAvailability } = await import("../../sandbox/open-task-machine.js");
  const { sqliteVersion } = await import("../../store/open-store.js");
  return {
    versions: { "art-e": programVersion(), node: process.versions.node, sqlite: sqliteVersion() },
    sandbox: sandboxFacts(await chooseSandbox()),
    snapshots: await machineAvailability(),
  };
}

function sandboxFacts(choice: SandboxChoice): MachineFacts["sandbox"] {
  if (choice.ok) {
    const { kind, about, limits } = choice.sandbox;
    return { kind, detail: about, limits };
  }
  return { kind: null, detail: `${choice.why}. ${choice.hint}` };
}

/** Checks the database file and its index. With `repair`, rebuilds the full-text index first. */
async function checkDatabase(repair: boolean, context: AppContext): Promise<DatabaseCheck> {
  const { checkHealth, repairIndex } = await import("../../mail/integrity.js");
  const { listOwners } = await import("../../mail/owners.js");
  const { withStore } = await import("../../store/open-store.js");
  const { checkStoredValues } = await import("../../runs/database-damage.js");
  const { db: path } = context.settings;
  try {
    const checked = await withStore(context.settings, async (db) => {
      if (repair) showRepair(context, (update) => repairIndex(db, update));
      context.note("Reading the entire file. A large file takes a while.");
      const health = [...checkHealth(db)];
      const isWhole = health.every(({ check, ok }) => check !== "Schema" || ok);
      const findings = isWhole ? [...health, checkStoredValues(db)] : health;
      return { findings, facts: await factsOf(db, path), owners: listOwners(db) };
    });
    const isDamaged = checked.findings.some(({ check, ok }) => !ok && DAMAGE_CHECKS.has(check));
    return { ...checked, tables: isDamaged ? await examine(path) : null };
  } catch (error) {
    const { databaseError } = await import("../../store/database-error.js");
    const userError = error instanceof UserError ? error : databaseError(error, path);
    if (userError === null || !existsSync(path) || !statSync(path).isFile()) throw error;
    // A sparse file without data. Reading gigabytes of zeros would take a minute.
    if (statSync(path).blocks === 0) throw userError;
    context.note("The database is damaged. Checking each table.");
    const tables = await examine(path).catch(() => {
      throw userError;
    });
    const findings = [{ check: "Database", ok: false, detail: userError.message }];
    return { findings, facts: { file: path }, owners: [], tables };
  }
}

/** Checks that fail only if bytes of the file were changed or lost. */
const DAMAGE_CHECKS: ReadonlySet<string> = new Set(["SQLite integrity", "Stored values"]);

async function examine(path: string): Promise<TableDamage[]> {
  const { examineDatabase } = await import("../../runs/database-damage.js");
  return examineDatabase(path);
}

function damageText(tables: readonly TableDamage[]): string {
  const damaged = tables.filter(isDamaged);
  const intact = tables.length - damaged.length;
  const rows = damaged.map(({ table: name, readable, lost, badRows }) => [
    name,
    count(readable),
    lost === null ? "unknown" : count(lost),
    count(badRows.length),
  ]);
  const lines = damaged.flatMap(({ table: name, faults, badRows }) => [
    ...faults.map((fault) => `  ${name}: ${fault}`),
    ...badRows.slice(0, ROWS_SHOWN).map((row) => `  ${name}: row ${row}`),
  ]);
  return compact([
    damaged.length > 0 && table(["damaged table", "readable rows", "lost rows", "rows with a damaged value"], rows),
    ...lines,
    `${intact} of ${tables.length} tables are intact.`,
    `Save the readable rows: ${commandLine`art-e doctor --recover NEW.db`}`,
  ]).join("\n");
}

/** Maximum number of rows named per table. The JSON output names all rows. */
const ROWS_SHOWN = 5;

function isDamaged({ lost, badRows, faults }: TableDamage): boolean {
  return faults.length > 0 || badRows.length > 0 || (lost ?? 0) > 0;
}

/** Runs `art-e doctor --recover`. */
async function recover(target: string, context: CommandContext): Promise<ExitCode> {
  const { db: path } = context.settings;
  const { recoverDatabase } = await import("../../runs/database-damage.js");
  const { checkDatabaseFile } = await import("../../store/open-store.js");
  checkDatabaseFile(path, true);
  checkDatabaseFile(target, false);
  context.note(`Reading ${path} table by table. A large file takes a while.`);
  const recovery = await recoverDatabase(path, target);
  context.out.result(recovery, () => recoveryText(recovery, path));
  return EXIT.done;
}

function recoveryText({ target, repaired, tables, tracesFile }: Recovery, path: string): string {
  const listedTables = tables.filter((one) => one.readable > 0 || isDamaged(one));
  const rows = listedTables.map((one) => [
    one.table,
    count(one.readable - one.orphans),
    one.lost === null ? "unknown" : count(one.lost),
    count(one.badRows.length),
    count(one.orphans),
  ]);
  const bad = tables.flatMap(({ table: name, badRows }) =>
    badRows.slice(0, ROWS_SHOWN).map((row) => `  Not saved from ${name}: row ${row}`),
  );
  return compact([
    `Recovered ${path} into ${target}.`,
    repaired !== null && `To open it, ${repaired} was replaced in a copy.`,
    table(["table", "saved", "lost", "damaged value", "belongs to a lost row"], rows),
    ...bad,
    tracesFile !== null &&
      `The traces of lost runs are in ${tracesFile}. Import them: ${commandLine`art-e import-traces ${tracesFile}`}`,
    `Check the result: art-e doctor --db ${target}`,
  ]).join("\n");
}

/** Runs `repair` with a progress bar. `repair` reports the number of indexed emails and the total. */
function showRepair({ progress }: AppContext, repair: (update: (done: number, total: number) => void) => void): void {
  const started = performance.now();
  const bar = progress("Indexing");
  repair((done, total) => bar.update(done, total, mailProgress(done, performance.now() - started)));
  bar.stop();
}
