import { z } from "zod";

export const runStatusSchema = z.enum(["running", "completed", "interrupted"]);

export type RunStatus = z.output<typeof runStatusSchema>;
