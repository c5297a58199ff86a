// The command `doctor`: checks the database, the sandbox and this machine.
import { existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { Finding } from "../../mail/integrity.js";
import type { Owner } from "../../mail/owners.js";
import type { AppContext } from "../../platform/app-context.js";
import { commandLine } from "../../platform/command-line.js";
import { EXIT, UserError } from "../../platform/errors.js";
import { toggle } from "../../platform/flag-values.js";
import { compact } from "../../platform/optional-values.js";
import { programVersion } from "../../platform/program-files.js";
import type { MachineAvailability } from "../../sandbox/open-task-machine.js";
import type { SandboxChoice } from "../../sandbox/python.js";
import type { Db } from "../../store/open-store.js";
import { count, mailProgress, summaryBox, table } from "../../text/format.js";
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
}

export const doctorCommand = defineCommand(
  z.object({
    repair: toggle.meta({ description: "Rebuild the full-text index, then check" }),
    owners: toggle.meta({ description: "List every owner folder with its address and the address's source" }),
  }),
  async (flags, context) => {
    const { db } = context.settings;
    const needsDatabase = flags.repair || flags.owners || existsSync(db);
    const { findings, facts, owners } = needsDatabase ? await checkDatabase(flags.repair, context) : missing(db);
    const machine = await machineFacts();
    context.out.result({ findings, ...facts, ...machine, owners }, () => {
      const rows = owners.map(({ folder, address, basis }) => [folder, address ?? "-", basis ?? "not found"]);
      const list = flags.owners ? [table(["folder", "address", "found by"], rows)] : [];
      return [report(findings, facts, machine), ...list].join("\n\n");
    });
    return findings.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
  },
);

/** Returns the check's result if the database does not exist. Suites do not need a database. */
function missing(db: string): DatabaseCheck {
  const detail = `there is none at ${db}; ${commandLine`art-e import SOURCE`} makes it. Task suites need none`;
  return { findings: [{ check: "Database", ok: false, detail }], facts: { file: db }, owners: [] };
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

async function factsOf(db: Db, file: string, owners: readonly Owner[]): Promise<DatabaseFacts> {
  const { bavail, bsize } = await statfs(dirname(file));
  const ownersByBasis: Record<string, number> = {};
  for (const { basis } of owners) ownersByBasis[basis ?? "none"] = (ownersByBasis[basis ?? "none"] ?? 0) + 1;
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
  const { db: path } = context.settings;
  try {
    return await withStore(context.settings, async (db) => {
      if (repair) showRepair(context, (update) => repairIndex(db, update));
      context.note("Reading the entire file. A large file takes a while.");
      const findings = [...checkHealth(db)];
      const owners = listOwners(db);
      return { findings, facts: await factsOf(db, path, owners), owners };
    });
  } catch (error) {
    const { databaseError } = await import("../../store/database-error.js");
    const userError = error instanceof UserError ? error : databaseError(error, path);
    if (userError === null || !existsSync(path) || !statSync(path).isFile()) throw error;
    // A sparse file without data is not a database.
    if (statSync(path).blocks === 0) throw userError;
    const findings = [{ check: "Database", ok: false, detail: userError.message }];
    return { findings, facts: { file: path }, owners: [] };
  }
}

/** Runs `repair` with a progress bar. `repair` reports the number of indexed emails and the total. */
function showRepair({ progress }: AppContext, repair: (update: (done: number, total: number) => void) => void): void {
  const started = performance.now();
  const bar = progress("Indexing");
  repair((done, total) => bar.update(done, total, mailProgress(done, performance.now() - started)));
  bar.stop();
}
