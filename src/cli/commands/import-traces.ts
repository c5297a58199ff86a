// The command `import-traces`: a run from another program's traces.
import { z } from "zod";
import { file } from "../../platform/flag-values.js";
import { compact } from "../../platform/optional-values.js";
import type { ImportedTraces } from "../../results/import-run.js";
import { count, counted } from "../../text/format.js";
import { IMPORTED_FILES } from "../../trace-formats/open-import.js";
import { defineCommand } from "../flags/define-command.js";

export const importTracesCommand = defineCommand(
  z.object({
    file: file.meta({ description: `Trace file: ${IMPORTED_FILES}` }),
  }),
  async ({ file }, context) => {
    const { importTraces } = await import("../../results/import-run.js");
    const imported = await importTraces(file, context);
    context.out.result(imported, () => summary(imported, file).join("\n"));
  },
);

function summary({ runs, traces, chats, lacking }: ImportedTraces, file: string): string[] {
  const kinds = compact([
    traces > 0 && `${counted(traces, "trace")} of ${runs.join(", ")}`,
    chats > 0 && counted(chats, "chat"),
  ]);
  const lacks = Object.entries(lacking).map(([what, n]) => `${count(n)} have ${what}`);
  return compact([`${kinds.join(" and ")} imported from ${file}.`, lacks.length > 0 && `${lacks.join("; ")}.`]);
}
