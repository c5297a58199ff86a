import type { z } from "zod";
import { UserError } from "../../domain/errors.js";

/** Parses the input of a change; the error names the first invalid field. */
export function checkInput<T extends z.ZodType>(schema: T, value: unknown, code: string, what: string): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? what : `${what}: ${issue.path.join(".")}`;
  throw new UserError(code, `${where}: ${issue?.message ?? "cannot be used"}.`, "Nothing has been changed.");
}

/** Built-in agents and tools cannot be changed: published figures are about them. */
export function refuseBuiltin(kind: "agent" | "tool", { id, builtin }: { id: string; builtin: boolean }): void {
  if (!builtin) return;
  throw new UserError(
    `${kind}_builtin`,
    `${kind === "agent" ? "Agent" : "Tool"} "${id}" came with art-e and cannot be changed.`,
    kind === "agent"
      ? `Change a copy: art-e agents clone ${id} NEW_ID.`
      : "Add a tool of your own under another id: art-e tools add ID.",
  );
}
