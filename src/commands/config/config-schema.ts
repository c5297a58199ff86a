import { z } from "zod";
import { flagName } from "../../platform/flag-name.js";
import { RUN_FLAGS } from "../run/run-flags.js";
import type { ConfigField } from "./config-field.js";
import { MAIN_KEYS, SECTIONS, type SectionName } from "./config-sections.js";

const DESCRIPTIONS: Readonly<Record<SectionName, string>> = {
  agent: "The agent to test: its id, or where it runs",
  model: "The model that the agent uses",
  dataset: "Questions about mailboxes: the published ones without file",
  suite: "Tasks of a suite's folder, instead of questions",
  run: "How many tasks, how often, what is scored and written",
  limits: "What a run, a task and a request may take",
  judge: "The model that judges the answers; off: none",
  gates: "What a run must reach, for art-e run and art-e gate",
  traces: "Where traces are sent; keys come from OTEL_EXPORTER_OTLP_HEADERS",
};

/** What the file may hold: sections, each null (nothing but comments), a text for its main key, or its settings. */
export const configSchema = z.strictObject(
  Object.fromEntries(
    Object.entries(SECTIONS).map(([name, fields]) => [name, sectionSchema(name as SectionName, fields)]),
  ) as Record<SectionName, ReturnType<typeof sectionSchema>>,
  "expected sections such as agent, dataset and limits",
);

function sectionSchema(name: SectionName, fields: Readonly<Record<string, ConfigField>>) {
  const settings = z.strictObject(
    Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, described(field).optional()])),
    `expected settings such as ${Object.keys(fields).slice(0, 3).join(", ")}`,
  );
  const key = MAIN_KEYS[name];
  const main = key === undefined ? undefined : fields[key]?.schema;
  const forms = main === undefined ? [settings] : [main.transform((value) => ({ [key ?? ""]: value })), settings];
  return z
    .union([...forms, z.null().transform(() => ({}))])
    .optional()
    .describe(DESCRIPTIONS[name]);
}

/** With what `--help` says of the flag. */
function described({ flag, schema }: ConfigField): z.ZodType {
  const written = flagName(flag);
  return schema.describe(`${RUN_FLAGS[written.slice("--".length)]?.describe ?? ""} (${written})`);
}
