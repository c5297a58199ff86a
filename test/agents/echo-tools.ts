import type { JsonSchema, JsonValue } from "../../src/platform/json.js";
import type { Tool, ToolContext } from "../../src/tools/tool.js";

/** Tools that need no mail: the first returns its arguments, the second ends the loop, the third is broken. */

const parameters: JsonSchema = { type: "object", properties: {} };

export interface Echo extends Tool {
  /** The arguments of each call, in order. */
  readonly calls: { readonly args: JsonValue; readonly context: ToolContext }[];
}

/** Refuses `{refuse: KIND}`. */
export function echo(id = "echo"): Echo {
  const calls: Echo["calls"] = [];
  return {
    id,
    description: `returns its arguments (${id})`,
    parameters,
    calls,
    async call(args, context) {
      calls.push({ args, context });
      const kind = (args as { refuse?: "bad_arguments" | "invalid_email" | "failed" }).refuse;
      return kind === undefined ? { ok: true, value: args } : { ok: false, kind, error: `refused: ${kind}` };
    },
  };
}

export const ending: Tool = {
  id: "return_final_answer",
  description: "ends",
  parameters,
  async call(args) {
    const final = args as { answer: string; sources: string[] };
    return { ok: true, value: { accepted: true }, final };
  },
};

export const broken: Tool = {
  id: "broken",
  description: "throws",
  parameters,
  async call() {
    throw new TypeError("a wire has come loose");
  },
};
