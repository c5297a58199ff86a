import { z } from "zod";

/** The questions of ART-E have numbers, as in their dataset; the tasks of other suites have texts. */
export const taskIdSchema = z.union([z.int(), z.string().min(1)]);

export type TaskId = z.output<typeof taskIdSchema>;

/** Numbers first and by value, as the database sorts them; then texts. */
export function compareTaskIds(a: TaskId, b: TaskId): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === typeof b) return a < b ? -1 : Number(a > b);
  return typeof a === "number" ? -1 : 1;
}
