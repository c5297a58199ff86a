import { Document, visit } from "yaml";
import { z } from "zod";
import { agentSettingsSchema } from "../../domain/agents/agent.js";
import { registryIdSchema } from "../../domain/agents/registry-id.js";
import { UserError } from "../../domain/errors.js";
import { jsonObjectSchema } from "../../domain/json.js";
import { readYamlDocument, type YamlDocument, YamlError } from "../../platform/yaml-document.js";

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
  const refuse = (why: string, line: number | undefined, cause?: unknown) =>
    new UserError(
      "agent_file",
      `${path}${line === undefined ? "" : `:${line}`}: ${why}.`,
      "art-e agents export ID prints an example.",
      2,
      { cause },
    );
  if (text.length > MAX_CHARS) throw refuse(`has more than ${MAX_CHARS} characters`, undefined);
  let document: YamlDocument;
  try {
    document = readYamlDocument(text);
  } catch (error) {
    if (error instanceof YamlError) throw refuse(error.message, error.line, error);
    throw error;
  }
  const read = fileSchema.safeParse(document.value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue?.path.join(".") ?? "";
  const why = `${where === "" ? "" : `${where}: `}${issue?.message ?? "cannot be used"}`;
  const key = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  throw refuse(why.replace(/\.$/, ""), document.lineOf(issue?.path ?? [], key));
}
