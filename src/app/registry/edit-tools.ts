import { z } from "zod";
import { registryIdSchema } from "../../domain/agents/registry-id.js";
import type { StoredTool } from "../../domain/agents/tool.js";
import { UserError } from "../../domain/errors.js";
import { jsonObjectSchema } from "../../domain/json.js";
import type { Db } from "../../store/connection/open-store.js";
import { findTool, getTool, listAgentsWithTool, removeTool, saveTool } from "../../store/registry/tool-rows.js";
import { checkAttached } from "../../tools/load-tools.js";
import { checkInput, refuseBuiltin } from "./validate-registry-input.js";
import { withNewVersion } from "./versions.js";

const changeable = {
  name: z.string().min(1).max(200),
  /** What the model reads. */
  description: z.string().min(1, "is empty: the model reads it").max(100_000),
  parametersSchema: jsonObjectSchema,
  handlerConfig: jsonObjectSchema,
  category: z.string().min(1).max(64),
};

/** A new tool. The handlers themselves check `handlerKey` and `handlerConfig`. */
export const newToolSchema = z.strictObject({
  ...changeable,
  id: registryIdSchema,
  name: changeable.name.optional(),
  parametersSchema: changeable.parametersSchema.default({
    type: "object",
    properties: {},
    additionalProperties: false,
  }),
  handlerKey: z.string().min(1),
  handlerConfig: changeable.handlerConfig.default({}),
  category: changeable.category.default("own"),
});

/** A change of a tool: what is left out stays. The handler cannot change: that would be another tool. */
export const toolChangesSchema = z.strictObject(changeable).partial();

export type NewTool = z.input<typeof newToolSchema>;

export function createTool(db: Db, input: NewTool): StoredTool {
  const tool = checkInput(newToolSchema, input, "tool_invalid", "The tool cannot be added");
  const row = { ...tool, name: tool.name ?? tool.id };
  checkAttached({ tool: row, config: null });
  return withNewVersion(db, () => {
    if (findTool(db, tool.id) !== null) {
      throw new UserError(
        "tool_exists",
        `There is a tool "${tool.id}" already.`,
        `Choose another id, or change it: art-e tools set ${tool.id}.`,
      );
    }
    saveTool(db, row);
    return getTool(db, tool.id);
  });
}

export function updateTool(db: Db, id: string, input: z.input<typeof toolChangesSchema>): StoredTool {
  return withNewVersion(db, () => {
    const before = getTool(db, id);
    refuseBuiltin("tool", before);
    const changes = checkInput(toolChangesSchema, input, "tool_invalid", `Tool "${id}" cannot be changed like this`);
    const defined = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
    const after = { ...before, ...defined };
    checkAttached({ tool: after, config: null });
    for (const { config } of listAgentsWithTool(db, id)) checkAttached({ tool: after, config });
    saveTool(db, after);
    return getTool(db, id);
  });
}

/** Refuses to delete a tool that an agent has. */
export function deleteTool(db: Db, id: string): void {
  withNewVersion(db, () => {
    refuseBuiltin("tool", getTool(db, id));
    const [first, ...more] = listAgentsWithTool(db, id);
    if (first !== undefined) {
      const others = more.length === 0 ? "" : ` and ${more.length} more`;
      throw new UserError(
        "tool_in_use",
        `Tool "${id}" is attached to agent "${first.id}"${others}.`,
        `Detach it first: art-e agents detach ${first.id} ${id}.`,
      );
    }
    removeTool(db, id);
  });
}
