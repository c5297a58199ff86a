import type { Flags } from "../cli/command.js";

export const YES_FLAG: Flags = { yes: { type: "boolean", describe: "Delete them; without it they are only listed" } };
