import { z } from "zod";
import type { ImportedTraces } from "../app/traces/import-traces.js";
import { EXIT } from "../domain/errors.js";
import { count } from "../reports/text/format-number.js";
import type { Command } from "./cli/command.js";
import { readFlags, text } from "./cli/read-flags.js";

const schema = z.object({ file: text });

export const importTracesCommand: Command = {
  positionals: {
    file: { type: "string", describe: "Our JSON lines, an Inspect log (.eval, .json), OTLP's JSON lines or ATIF" },
  },
  flags: {},
  async run(argv, context) {
    const { file } = readFlags("import-traces", schema, argv);
    const { importTraces } = await import("../app/traces/import-traces.js");
    const imported = await importTraces(file, context);
    context.out.result(imported, () => summary(imported, file).join("\n"));
    return EXIT.done;
  },
};

function summary({ runs, traces, chats, lacking }: ImportedTraces, file: string): string[] {
  const kinds = [
    ...(traces === 0 ? [] : [`${count(traces)} traces of ${runs.join(", ")}`]),
    ...(chats === 0 ? [] : [`${count(chats)} chats`]),
  ];
  const lacks = Object.entries(lacking).map(([what, n]) => `${count(n)} have ${what}`);
  return [`${kinds.join(" and ")} imported from ${file}.`, ...(lacks.length === 0 ? [] : [`${lacks.join("; ")}.`])];
}
