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

/** Each section is null (nothing but comments), a text for its main key, or its settings. */
const sections = Object.fromEntries(
  Object.entries(SECTIONS).map(([name, fields]) => [name, sectionSchema(name as SectionName, fields).optional()]),
) as Record<SectionName, z.ZodOptional<ReturnType<typeof sectionSchema>>>;

const EXPECTED = "expected sections such as agent, dataset and limits";

/** Also a tag of the run in the database. */
const runName = z
  .string()
  .regex(
    /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,49}$/u,
    "expected a name of up to 50 letters, digits, dots, dashes, underscores",
  )
  .regex(/\D/, "expected a name that is no number");

/** What the file may hold. */
export const configSchema = z.strictObject(
  {
    database: z
      .string("expected a path")
      .min(1, "expected a path")
      .optional()
      .describe("The database of every command that is called in the folder of art-e.yaml (--db)"),
    ...sections,
    runs: z
      .record(
        runName,
        z.union([z.strictObject(sections, EXPECTED), z.null().transform(() => ({}))]),
        "expected NAME: with sections below it",
      )
      .optional()
      .describe("Runs by their names, in order, each with what differs from the sections of the file"),
  },
  EXPECTED,
);

function sectionSchema(name: SectionName, fields: Readonly<Record<string, ConfigField>>) {
  const settings = z.strictObject(
    Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, described(field).optional()])),
    `expected settings such as ${Object.keys(fields).slice(0, 3).join(", ")}`,
  );
  const key = MAIN_KEYS[name];
  const main = key === undefined ? undefined : fields[key]?.schema;
  const forms = main === undefined ? [settings] : [main.transform((value) => ({ [key ?? ""]: value })), settings];
  return z.union([...forms, z.null().transform(() => ({}))]).meta({ id: name, description: DESCRIPTIONS[name] });
}

/** With what `--help` says of the flag. */
function described({ flag, schema }: ConfigField): z.ZodType {
  const written = flagName(flag);
  return schema.describe(`${RUN_FLAGS[written.slice("--".length)]?.describe ?? ""} (${written})`);
}
