import type { JsonObject } from "../domain/json.js";
import type { ToolSpec } from "../domain/models/model.js";

interface ReadTool {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: JsonObject | null | undefined;
}

/** Tools as a file describes them, each once. */
export class DescribedTools {
  private readonly tools = new Map<string, ToolSpec>();

  add(tools: readonly ReadTool[]): void {
    for (const { name, description, parameters } of tools) {
      const { properties = null } = parameters ?? {};
      const hasParameters = typeof properties === "object" && Object.keys(properties ?? {}).length > 0;
      // Without both it is only the name of a tool that was called.
      if (this.tools.has(name) || (!description && !hasParameters)) continue;
      this.tools.set(name, { name, description: description ?? "", parameters: parameters ?? {} });
    }
  }

  list(): readonly ToolSpec[] {
    return [...this.tools.values()];
  }
}
