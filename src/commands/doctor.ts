import { statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { programVersion } from "../app/settings/program-version.js";
import { EXIT } from "../domain/errors.js";
import { count, rate } from "../reports/text/format-number.js";
import { summaryBox } from "../reports/text/summary-box.js";
import { table } from "../reports/text/text-table.js";
import { chooseSandbox } from "../sandbox/choose-sandbox.js";
import type { SandboxChoice } from "../sandbox/python-sandbox.js";
import { checkHealth, type Finding, repairIndex } from "../store/connection/health.js";
import { type Db, openStore } from "../store/connection/open-store.js";
import { listOwners } from "../store/import/owners.js";
import type { Command, CommandContext } from "./cli/command.js";
import { openProgressLater } from "./cli/progress.js";
import { readFlags } from "./cli/read-flags.js";

const schema = z.object({ repair: z.boolean().default(false), owners: z.boolean().default(false) });

export const doctorCommand: Command = {
  flags: {
    repair: { type: "boolean", describe: "Make the full-text index anew from the mails, then check" },
    owners: { type: "boolean", describe: "List every owner folder with its address and how it was found" },
  },
  async run(argv, context) {
    const { repair, owners } = readFlags("doctor", schema, argv);
    const { settings, out } = context;
    const db = openStore(settings.db, { mustExist: true });
    try {
      if (repair) rebuild(db, context);
      out.note("Reading the whole file; a large one takes a while.");
      const findings = [...checkHealth(db)];
      const facts = await factsOf(db, settings.db);
      const folders = listOwners(db);
      out.result({ findings, ...facts, owners: folders }, () =>
        [
          report(findings, facts),
          ...(owners
            ? [
                table(
                  ["folder", "address", "found by"],
                  folders.map(({ folder, address, basis }) => [folder, address ?? "-", basis ?? "not found"]),
                ),
              ]
            : []),
        ].join("\n\n"),
      );
      return findings.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
    } finally {
      db.close();
    }
  },
};

function rebuild(db: Db, { settings }: CommandContext): void {
  const started = performance.now();
  const bar = openProgressLater(settings, "Indexing");
  repairIndex(db, (done, total) =>
    bar.update(done, total, `${count(done)} mails  ${rate(done, performance.now() - started)}`),
  );
  bar.stop();
}

interface Facts {
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
    /** Which of its limits hold by themselves. */
    readonly limits?: Readonly<Record<string, string>>;
  };
  /** How many owner folders got their address in which way; `none`: those without one. */
  readonly ownersByBasis: Readonly<Record<string, number>>;
}

async function factsOf(db: Db, file: string): Promise<Facts> {
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
    ownersByBasis,
  };
}

function sandboxFacts(choice: SandboxChoice): Facts["sandbox"] {
  if (choice.ok) {
    const { kind, about, limits } = choice.sandbox;
    return { kind, detail: about, limits };
  }
  return { kind: null, detail: `${choice.why}. ${choice.hint}` };
}

function report(findings: readonly Finding[], facts: Facts): string {
  const owners = Object.entries(facts.ownersByBasis).map(([basis, folders]) => `${folders} by ${basis}`);
  const megabytes = (bytes: number) => `${count(Math.round(bytes / 1e6))} MB`;
  return summaryBox(`ART-E Doctor (${facts.file})`, [
    ...findings.map(({ check, ok, detail }): [string, string] => [check, `${ok ? "ok" : "BAD"}: ${detail}`]),
    ["Owner folders", owners.join(", ") || "none"],
    ["Python sandbox", facts.sandbox.kind === null ? `none: ${facts.sandbox.detail}` : `ok: ${facts.sandbox.detail}`],
    ...Object.entries(facts.sandbox.limits ?? {}).map(([what, how]): [string, string] => [`Sandbox ${what}`, how]),
    ["Disk", `${megabytes(facts.fileBytes)} in the file, ${megabytes(facts.freeBytes)} free`],
    ["Tables", `version ${facts.schemaVersion}, journal ${facts.journalMode}`],
    [
      "Versions",
      Object.entries(facts.versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(", "),
    ],
  ]);
}
