import { statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { mailProgress } from "../../reports/text/format-number.js";
import { chooseSandbox } from "../../sandbox/choose-sandbox.js";
import type { SandboxChoice } from "../../sandbox/python-sandbox.js";
import { checkHealth, type Finding, repairIndex } from "../../store/connection/health.js";
import type { Db } from "../../store/connection/open-store.js";
import { listOwners, type Owner } from "../../store/import/owners.js";
import { programVersion } from "../settings/program-version.js";
import type { AppContext } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { type MachineAvailability, machineAvailability } from "./machine-availability.js";

export interface DatabaseFacts {
  readonly file: string;
  readonly fileBytes: number;
  readonly freeBytes: number;
  readonly schemaVersion: number;
  readonly journalMode: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Where execute_python runs; null: nowhere, and `detail` says why and what to do. */
  readonly sandbox: {
    readonly kind: string | null;
    readonly detail: string;
    /** Which of its limits the kernel enforces. */
    readonly limits?: Readonly<Record<string, string>>;
  };
  /** Machines for the tasks of suites. */
  readonly snapshots: MachineAvailability;
  /** How many owner folders got their address in which way; `none`: those without one. */
  readonly ownersByBasis: Readonly<Record<string, number>>;
}

async function factsOf(db: Db, file: string): Promise<DatabaseFacts> {
  const { bavail, bsize } = await statfs(dirname(file));
  const ownersByBasis: Record<string, number> = {};
  for (const { basis } of listOwners(db)) ownersByBasis[basis ?? "none"] = (ownersByBasis[basis ?? "none"] ?? 0) + 1;
  return {
    file,
    fileBytes: statSync(file).size,
    freeBytes: bavail * bsize,
    schemaVersion: db.pragma("user_version", { simple: true }) as number,
    journalMode: db.pragma("journal_mode", { simple: true }) as string,
    versions: {
      "art-e": programVersion(),
      node: process.versions.node,
      sqlite: db.prepare("SELECT sqlite_version()").pluck().get() as string,
    },
    sandbox: sandboxFacts(await chooseSandbox()),
    snapshots: await machineAvailability(),
    ownersByBasis,
  };
}

function sandboxFacts(choice: SandboxChoice): DatabaseFacts["sandbox"] {
  if (choice.ok) {
    const { kind, about, limits } = choice.sandbox;
    return { kind, detail: about, limits };
  }
  return { kind: null, detail: `${choice.why}. ${choice.hint}` };
}

export interface DatabaseCheck {
  readonly findings: readonly Finding[];
  readonly facts: DatabaseFacts;
  readonly owners: readonly Owner[];
}

/** Checks the database file, its index and what this machine offers. `repair` rebuilds the full-text index first. */
export function checkDatabase(repair: boolean, context: AppContext): Promise<DatabaseCheck> {
  return withStore(context.settings, async (db) => {
    if (repair) rebuildIndex(db, context);
    context.note("Reading the whole file; a large one takes a while.");
    const findings = [...checkHealth(db)];
    return { findings, facts: await factsOf(db, context.settings.db), owners: listOwners(db) };
  });
}

function rebuildIndex(db: Db, { progress }: AppContext): void {
  const started = performance.now();
  const bar = progress("Indexing");
  repairIndex(db, (done, total) => bar.update(done, total, mailProgress(done, performance.now() - started)));
  bar.stop();
}
