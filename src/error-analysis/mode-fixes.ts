// Imports nothing, because the page's script uses the types of responses that contain it.

/** How a failure mode is best handled. `prompt`: the agent's prompt does not ask for it, so no eval is needed yet. */
export const MODE_FIXES = ["eval", "prompt"] as const;

export type ModeFix = (typeof MODE_FIXES)[number];
