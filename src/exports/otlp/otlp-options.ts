import type { ToolSpec } from "../../domain/models/model.js";

export interface OtlpOptions {
  /** False: what was said, called, answered and explained is left out. */
  readonly content: boolean;
  /** What the model was told of its tools; empty where that is not known. */
  readonly tools: readonly ToolSpec[];
}
