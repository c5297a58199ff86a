import type { z } from "zod";
import { UserError } from "../../domain/errors.js";

/** What is asked of the registry, checked; the first thing that cannot be used is named. */
export function check<T extends z.ZodType>(schema: T, value: unknown, code: string, what: string): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? what : `${what}: ${issue.path.join(".")}`;
  throw new UserError(code, `${where}: ${issue?.message ?? "cannot be used"}.`, "Nothing has been changed.");
}

/** What came with the program stays as it is: published figures are about it. */
export function refuseBuiltin(kind: "agent" | "tool", { id, builtin }: { id: string; builtin: boolean }): void {
  if (!builtin) return;
  throw new UserError(
    `${kind}_builtin`,
    `${kind === "agent" ? "Agent" : "Tool"} "${id}" came with art-e and stays as it is.`,
    kind === "agent"
      ? `Make one of your own from it: art-e agents clone ${id} NEW-ID.`
      : "Add a tool of your own under another id: art-e tools add ID.",
  );
}
