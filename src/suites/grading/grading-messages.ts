import { z } from "zod";
import type { Grade, SuiteTask } from "../../domain/tasks/suite-task.js";
import type { SuiteFolder } from "../definition/suite-folder.js";

/** What all gradings of a run have in common; can be sent to another process. */
export interface GradingSources {
  readonly suite: SuiteFolder;
  /** Absolute path of the user's module; null: none. */
  readonly functions: string | null;
  /** Folder of account settings, and the variables that hold some. */
  readonly accounts: { readonly folder: string | null; readonly env: Readonly<Record<string, string>> };
}

export interface GradingOrder extends GradingSources {
  readonly task: SuiteTask;
  readonly workFolder: string;
  readonly canRun: boolean;
}

/** To the process that grades. */
export type ToGrader =
  | { readonly order: GradingOrder }
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: string };

const command = z.object({
  argv: z.array(z.string()),
  cwd: z.string().nullable(),
  env: z.record(z.string(), z.string()),
  timeoutMs: z.number(),
});

/** What it asks of the task's machine. */
const machineCallSchema = z.discriminatedUnion("op", [
  z.object({ op: z.literal("copyIn"), from: z.string(), path: z.string() }),
  z.object({ op: z.literal("copyOut"), path: z.string(), to: z.string() }),
  z.object({ op: z.literal("run"), command }),
]);

export type MachineCall = z.output<typeof machineCallSchema>;

const gradeSchema: z.ZodType<Grade> = z.object({
  score: z.number().nullable(),
  state: z.enum(["success", "eval_error", "unsupported", "needs_account"]),
  reason: z.string(),
});

/** From it. `alive` comes as long as its event loop runs. */
export const fromGraderSchema = z.union([
  z.object({ id: z.number(), call: machineCallSchema }),
  z.object({ grade: gradeSchema }),
  z.object({ alive: z.literal(true) }),
]);

export type FromGrader = z.output<typeof fromGraderSchema>;

export const ALIVE_EVERY_MS = 1_000;
