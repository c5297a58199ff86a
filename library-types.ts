// Writes the declarations of `src/library/published-types.ts` for users of the library, from the zod schemas and the
// table of flags. The schemas' own types would require zod. The build calls it.
import { compile } from "json-schema-to-typescript";
import { z } from "zod";
import { messageSchema } from "./src/models/model.js";
import { usageSchema } from "./src/models/usage.js";
import { type SharedFlag, traitsOf } from "./src/platform/flag-values.js";
import { jsonValueSchema } from "./src/platform/json.js";
import { flagsWhere, LIMIT_FLAG, QUESTION_FLAGS, RUN_FLAGS } from "./src/runs/run-flags.js";
import { estimateSchema, intervalSchema } from "./src/statistics/estimate.js";
import { questionSchema } from "./src/tasks/question.js";
import { judgmentSchema } from "./src/traces/judgment.js";
import { runSettingsSchema } from "./src/traces/run-settings.js";
import { benchmarkResultSchema, scoreFiguresSchema } from "./src/traces/run-totals.js";
import { taskResultSchema } from "./src/traces/task-result.js";
import {
  anyTraceSchema,
  chatTraceSchema,
  suiteTraceSchema,
  toolCallRecordSchema,
  traceSchema,
  turnSchema,
} from "./src/traces/trace.js";

const BANNER = "// Generated from the schemas of art-e by its build.";

const selectionSchema = optionsOf(
  { ...QUESTION_FLAGS, ...LIMIT_FLAG },
  { limit: "Maximum number of tasks [default: all]" },
);
const sessionSchema = optionsOf(flagsOf("session"));
const runOptionsSchema = optionsOf(flagsOf("new"));

function flagsOf(kind: "new" | "session") {
  return Object.fromEntries(flagsWhere(({ inLibrary }) => inLibrary === kind).map((name) => [name, RUN_FLAGS[name]]));
}

/** Flags as options, whose values have the form of the config file. */
function optionsOf(flags: Readonly<Record<string, SharedFlag>>, texts: Readonly<Record<string, string>> = {}) {
  const options = Object.entries(flags).map(([name, { schema, help }]) => {
    const value = traitsOf(schema).inConfig ?? schema;
    return [name, value.optional().describe(texts[name] ?? help.replace(", separated by commas", ""))];
  });
  return z.object(Object.fromEntries(options) as Record<string, z.ZodType>);
}

/** Names of the types. Other objects are written in place. */
const NAMES: ReadonlyMap<z.core.$ZodType, string> = new Map<z.core.$ZodType, string>([
  [benchmarkResultSchema, "BenchmarkResult"],
  [taskResultSchema, "TaskResult"],
  [runSettingsSchema, "RunSettings"],
  [scoreFiguresSchema, "ScoreFigures"],
  [estimateSchema, "Estimate"],
  [intervalSchema, "Interval"],
  [traceSchema, "QuestionTrace"],
  [suiteTraceSchema, "SuiteTrace"],
  [chatTraceSchema, "ChatTrace"],
  [messageSchema, "Message"],
  [toolCallRecordSchema, "ToolCall"],
  [turnSchema, "Turn"],
  [judgmentSchema, "Judgment"],
  [usageSchema, "Usage"],
  [questionSchema, "Question"],
  [selectionSchema, "QuestionSelection"],
  [sessionSchema, "SessionOptions"],
  [runOptionsSchema, "RunOptions"],
]);

/** Adds the names to zod's descriptions. */
const named = {
  ...z.globalRegistry,
  get(schema: z.core.$ZodType) {
    const id = NAMES.get(schema);
    return { ...z.globalRegistry.get(schema), ...(id === undefined ? {} : { id }) };
  },
  has: (schema: z.core.$ZodType) => NAMES.has(schema) || z.globalRegistry.has(schema),
};

/** Returns the TypeScript file with the types of results and traces, with the schemas' descriptions as comments. */
export async function libraryTypes(): Promise<string> {
  const published = z.object({
    result: benchmarkResultSchema,
    trace: anyTraceSchema,
    selection: selectionSchema,
    session: sessionSchema,
    run: runOptionsSchema,
  });
  const schema = z.toJSONSchema(published, {
    target: "draft-7",
    io: "input",
    metadata: named as unknown as typeof z.globalRegistry,
    override({ zodSchema, jsonSchema }) {
      if ((zodSchema as z.core.$ZodType) === jsonValueSchema) Object.assign(jsonSchema, { tsType: "JsonValue" });
      const { ids } = zodSchema === selectionSchema ? (jsonSchema.properties ?? {}) : {};
      if (typeof ids === "object") Object.assign(ids, { tsType: "readonly number[]" });
    },
  });
  const compiled = await compile(schema as Parameters<typeof compile>[0], "Published", {
    additionalProperties: false,
    bannerComment: BANNER,
    format: true,
    style: { printWidth: 120, semi: true },
    unreachableDefinitions: false,
  });
  const withoutRoot = compiled.replace(/export interface Published \{[\s\S]*?\n\}\n/, "");
  const imports = 'import type { JsonValue } from "../platform/json-value.js";\n';
  const trace = "/** A trace of a run. */\nexport type Trace = QuestionTrace | SuiteTrace;\n";
  return withoutRoot.replace(BANNER, `${BANNER}\n${imports}`).trimEnd().concat("\n\n", trace);
}
