// Converts tools to the subset of JSON Schema that each provider accepts. Tools can come from anywhere, mostly from MCP
// servers, and a single rejected schema makes every call by the agent fail. The tool itself validates its arguments
// against its original schema.
import type { JsonSchema, JsonValue } from "../platform/json.js";
import type { ToolSpec } from "./model.js";
import { foldAlternatives } from "./tool-schemas/fold-alternatives.js";
import { googleSchema } from "./tool-schemas/google-schema.js";
import { acceptedNames, type Renamed, renameProperties, restoreNames } from "./tool-schemas/property-names.js";
import { acceptableSchema, soundSchema } from "./tool-schemas/sound-schema.js";

export { soundSchema };

export type SchemaDialect = "anthropic" | "google" | "openai";

interface AdaptedTool extends Pick<ToolSpec, "name" | "description"> {
  /** Null for a tool without parameters at Google, which must not declare any. */
  readonly parameters: JsonSchema | null;
}

export interface AdaptedTools {
  readonly tools: readonly AdaptedTool[];
  /** Notes about changed schemas, one per kind of change. */
  readonly notes: readonly string[];
  /** Restores the tool's own parameter names in a call's arguments. */
  restore(tool: string, args: JsonValue): JsonValue;
}

const CHANGES = {
  alternatives: "top-level alternatives were merged into one object",
  names: "parameter names were restricted to letters, digits, _, . and -",
} as const;

export function adaptTools(tools: readonly ToolSpec[], dialect: SchemaDialect): AdaptedTools {
  const changed: Record<keyof typeof CHANGES, string[]> = { alternatives: [], names: [] };
  const renamed = new Map<string, Renamed>();
  const adapted = tools.map(({ name, description, parameters }) => {
    const folded = foldAlternatives(acceptableSchema(parameters));
    if (folded.hint !== null) changed.alternatives.push(name);
    const names = dialect === "openai" ? new Map<string, string>() : acceptedNames(folded.schema);
    const schema = names.size === 0 ? folded.schema : (renameProperties(folded.schema, names) as JsonSchema);
    if (names.size > 0) {
      changed.names.push(name);
      const originals = new Map([...names].map(([original, accepted]) => [accepted, original]));
      renamed.set(name, { root: folded.schema, originals });
    }
    return {
      name,
      description: folded.hint === null ? description : `${description} ${folded.hint}`.trim(),
      parameters: dialect === "google" ? googleSchema(schema) : objectSchema(schema),
    };
  });
  const notes = (Object.keys(CHANGES) as (keyof typeof CHANGES)[])
    .filter((change) => changed[change].length > 0)
    .map((change) => `the schemas of the tools ${changed[change].join(", ")} were adapted: ${CHANGES[change]}.`);
  return {
    tools: adapted,
    notes,
    restore(tool, args) {
      const of = renamed.get(tool);
      return of === undefined ? args : restoreNames(args, [of.root], of);
    },
  };
}

/** Adds the `type` and `properties` that Anthropic and OpenAI require. */
export function objectSchema(parameters: JsonSchema): JsonSchema {
  return { ...parameters, type: "object", properties: parameters.properties ?? {} };
}
