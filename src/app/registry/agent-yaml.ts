import { Document, isAlias, isNode, LineCounter, parseDocument, visit } from "yaml";
import { z } from "zod";
import { agentSettingsSchema } from "../../domain/agents/agent.js";
import { registryIdSchema } from "../../domain/agents/registry-id.js";
import { UserError } from "../../domain/errors.js";
import { jsonObjectSchema } from "../../domain/json.js";

/** Defines a tool in the agent's file; built-in tools are only named. */
const definitionSchema = z.strictObject({
  name: z.string(),
  description: z.string(),
  category: z.string(),
  handler: z.string(),
  config: jsonObjectSchema.optional(),
  parameters: jsonObjectSchema,
});

const fileSchema = z.strictObject({
  id: registryIdSchema,
  name: z.string(),
  description: z.string().default(""),
  model: z.string().nullable().default(null),
  settings: agentSettingsSchema.prefault({}),
  prompt: z.string().min(1),
  tools: z
    .array(
      z.strictObject({
        id: registryIdSchema,
        config: jsonObjectSchema.optional(),
        definition: definitionSchema.optional(),
      }),
    )
    .min(1),
});

export type AgentFile = z.output<typeof fileSchema>;

const MAX_CHARS = 4_000_000;

/** The agent as a file for people to edit: multi-line text as block literals, nothing folded. */
export function toYaml(file: AgentFile): string {
  const document = new Document(file);
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === "string" && node.value.includes("\n")) node.type = "BLOCK_LITERAL";
    },
  });
  return document.toString({ lineWidth: 0 });
}

/** Reads an agent's file; errors name the file and the line. */
export function fromYaml(text: string, path: string): AgentFile {
  const lines = new LineCounter();
  const refuse = (why: string, offset: number | undefined, cause?: unknown) =>
    new UserError(
      "agent_file",
      `${path}${offset === undefined ? "" : `:${lines.linePos(offset).line}`}: ${why}.`,
      "art-e agents export ID prints an example.",
      2,
      { cause },
    );
  if (text.length > MAX_CHARS) throw refuse(`has more than ${MAX_CHARS} characters`, undefined);
  let document: ReturnType<typeof parseDocument>;
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, merge: false });
  } catch (cause) {
    throw refuse(cause instanceof RangeError ? "is nested too deeply" : (cause as Error).message, undefined, cause);
  }
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong !== undefined) throw refuse(wrong.message.replace(/\s+/g, " ").replace(/\.$/, ""), wrong.pos[0]);
  visit(document, {
    Node(_, node) {
      const anchored = isAlias(node) || ("anchor" in node && node.anchor !== undefined);
      if (anchored) throw refuse("has an anchor or an alias, which are not allowed", node.range?.[0]);
    },
  });
  const read = fileSchema.safeParse(document.toJS({ maxAliasCount: 0 }));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue?.path.join(".") ?? "";
  const why = `${where === "" ? "" : `${where}: `}${issue?.message ?? "cannot be used"}`;
  throw refuse(why.replace(/\.$/, ""), issue === undefined ? undefined : offsetOf(document, issue));
}

/** The offset of the unknown key, of the invalid value, or of the nearest node that contains it. */
function offsetOf(document: ReturnType<typeof parseDocument>, issue: z.core.$ZodIssue): number | undefined {
  const path = issue.path as (string | number)[];
  if (issue.code === "unrecognized_keys") {
    const [key] = issue.keys;
    let found: number | undefined;
    visit(document, {
      Pair(_, pair) {
        const named = isNode(pair.key) && String(pair.key) === key;
        if (named && isNode(pair.key)) found ??= pair.key.range?.[0];
      },
    });
    return found;
  }
  for (let depth = path.length; depth >= 0; depth--) {
    const node = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true);
    if (isNode(node)) return node.range?.[0];
  }
  return undefined;
}
