import type { CallProgress } from "../models/model.js";

/** What a task under way is doing, or waits for. */
export type TaskActivity =
  | CallProgress
  | { readonly type: "tool"; readonly name: string }
  /** The answer is being judged. */
  | { readonly type: "judging" };
