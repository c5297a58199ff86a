import { z } from "zod";
import { checkDatabase, type DatabaseFacts } from "../app/database/check-database.js";
import type { MachineAvailability } from "../app/database/machine-availability.js";
import { EXIT } from "../domain/errors.js";
import { count } from "../reports/text/format-number.js";
import { summaryBox } from "../reports/text/summary-box.js";
import { table } from "../reports/text/text-table.js";
import type { Finding } from "../store/connection/health.js";
import type { Command } from "./cli/command.js";
import { readFlags } from "./cli/read-flags.js";

const schema = z.object({ repair: z.boolean().default(false), owners: z.boolean().default(false) });

export const doctorCommand: Command = {
  flags: {
    repair: { type: "boolean", describe: "Make the full-text index anew from the mails, then check" },
    owners: { type: "boolean", describe: "List every owner folder with its address and how it was found" },
  },
  async run(argv, context) {
    const flags = readFlags("doctor", schema, argv);
    const { findings, facts, owners } = await checkDatabase(flags.repair, context);
    context.out.result({ findings, ...facts, owners }, () => {
      const rows = owners.map(({ folder, address, basis }) => [folder, address ?? "-", basis ?? "not found"]);
      const list = flags.owners ? [table(["folder", "address", "found by"], rows)] : [];
      return [report(findings, facts), ...list].join("\n\n");
    });
    return findings.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
  },
};

function report(findings: readonly Finding[], facts: DatabaseFacts): string {
  const owners = Object.entries(facts.ownersByBasis).map(([basis, folders]) => `${folders} by ${basis}`);
  const megabytes = (bytes: number) => `${count(Math.round(bytes / 1e6))} MB`;
  return summaryBox(`ART-E Doctor (${facts.file})`, [
    ...findings.map(({ check, ok, detail }): [string, string] => [check, `${ok ? "ok" : "BAD"}: ${detail}`]),
    ["Owner folders", owners.join(", ") || "none"],
    ["Python sandbox", facts.sandbox.kind === null ? `none: ${facts.sandbox.detail}` : `ok: ${facts.sandbox.detail}`],
    ...Object.entries(facts.sandbox.limits ?? {}).map(([what, how]): [string, string] => [`Sandbox ${what}`, how]),
    ...snapshotRows(facts.snapshots),
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

/** Machines for the tasks of suites, and the one line that installs what is missing for them. */
function snapshotRows({ obstacle, ready, notReady, unavailable, install, withoutPackage }: MachineAvailability) {
  const names = (list: readonly string[]) => list.join(", ") || "none";
  const missing = withoutPackage.length === 0 ? "" : ` (no package: ${withoutPackage.join(", ")})`;
  const rows: [string, string][] = [
    ["Task snapshots", obstacle === null ? `ready: ${names(ready)}` : `none: ${obstacle}`],
    ["Not ready", `${names(Object.keys(notReady))}${missing}`],
    ["Not possible", `${names(Object.keys(unavailable))} (need servers or accounts)`],
    ...(install === null ? [] : [["To install", install] satisfies [string, string]]),
  ];
  return rows;
}
