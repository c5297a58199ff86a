// The command `export-results`: a run's results as a file of tables.
import { z } from "zod";
import { UserError } from "../../platform/errors.js";
import { fileOrStdout, listText, OVERWRITE_FLAG, oneOf, shapeOf, splitList } from "../../platform/flag-values.js";
import type { ExportedTables } from "../../results/export-tables.js";
import { counted } from "../../text/format.js";
import { TABLE_FORMATS, TABLES, type TableFormat, tablePath } from "../../trace-formats/tables.js";
import { runNames } from "../flags/argument-schemas.js";
import { defineCommand } from "../flags/define-command.js";

const schema = z.object({
  runs: runNames.meta({ description: "Run ids, run names, latest, or results files [default: latest]" }),
  format: oneOf(TABLE_FORMATS)
    .default("parquet")
    .meta({ description: `Format: ${TABLE_FORMATS.join(", ")} [default: parquet]` }),
  tables: listText
    .transform((list) => [...new Set(splitList(list))])
    .pipe(z.array(z.enum(TABLES, `expected ${TABLES.join(", ")}, or several of them`)).min(1))
    .optional()
    .meta({ placeholder: "NAME,NAME", description: `Tables: ${TABLES.join(",")} [default: all]` }),
  output: fileOrStdout.meta({
    placeholder: "FOLDER",
    description: "Output folder, with one file per table, or - for stdout [default: stdout, for one table]",
    alias: "o",
  }),
  ...shapeOf(OVERWRITE_FLAG),
});

type Flags = z.output<typeof schema>;

/** Kind of file that an export may overwrite, per format: a table from an earlier export. */
const KINDS = { parquet: "parquet-table", csv: "csv", jsonl: "jsonl-table" } as const satisfies Record<
  TableFormat,
  string
>;

export const exportResultsCommand = defineCommand(schema, async (flags, context) => {
  const { runs: names, tables, format, output, overwrite } = flags;
  const { settings, out, note } = context;
  const { resultsFiles } = await import("../../results/results-file.js");
  const { checkOutputFolder } = await import("../../trace-formats/output-files.js");
  if (output === undefined) checkStdout(flags, settings.json);
  else {
    const files = (tables ?? TABLES).map((table) => ({
      path: tablePath(output, table, format),
      kind: KINDS[format],
    }));
    checkOutputFolder("--output", output, files, resultsFiles(names, "export"), { db: settings.db, overwrite });
  }
  const { exportTables } = await import("../../results/export-tables.js");
  const exported = await exportTables({ names, tables, format, output }, context, out.pieces);
  if (settings.json) out.result({ format, ...exported }, () => "");
  else if (output !== undefined) note(written(exported));
  if (exported.withoutTraces.length > 0 && exported.tables.some(({ table }) => table !== "tasks")) {
    note(`Only included in tasks, because results files do not contain traces: ${exported.withoutTraces.join(", ")}.`);
  }
});

/** Throws a UserError unless stdout gets a single table as text. */
function checkStdout({ tables, format }: Flags, json: boolean): void {
  const why =
    format === "parquet"
      ? "Cannot print Parquet to stdout"
      : tables?.length !== 1
        ? "Cannot print several tables to stdout"
        : json
          ? "Cannot print a table together with --json"
          : null;
  if (why === null) return;
  throw new UserError(
    "flag_missing",
    `${why}.`,
    "Pass a folder with --output, or print one table: --tables tasks --format csv.",
  );
}

function written({ runs, tables }: ExportedTables): string {
  const files = tables.map(({ path, rows }) => `  ${path}  ${counted(rows, "row")}`);
  return [`${runs.length === 1 ? `Run ${runs[0]}` : `${runs.length} runs`} written to:`, ...files].join("\n");
}
