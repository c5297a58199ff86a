import { z } from "zod";
import type { Flags } from "../cli/command.js";

export const OVERWRITE_FLAGS: Flags = {
  overwrite: { type: "boolean", describe: "Write over an output file that is of another kind" },
};

export const overwriteShape = { overwrite: z.boolean().default(false) };
