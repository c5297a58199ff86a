import { z } from "zod";
import { splitShellWords } from "../../platform/shell-words.js";

export const commandSchema = z.looseObject({
  command: z.union([z.string(), z.array(z.string())]),
  shell: z.boolean().default(false),
});

/** A command as the origin's server starts it: text is split into words, or goes to a shell where the task says so. */
export function argvOf({ command, shell }: z.output<typeof commandSchema>): string[] {
  if (shell) return ["/bin/sh", "-c", ...(typeof command === "string" ? [command] : command)];
  return typeof command === "string" ? splitShellWords(command, "command") : command;
}
