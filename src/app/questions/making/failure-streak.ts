import { UserError } from "../../../domain/errors.js";

/** So many unusable replies in a row are the model's way, and no accident. */
const MAX_FAILURES = 8;

/** A model that gives nothing usable. */
export class UnusableModel extends UserError {}

/** Stops a command whose model never gives what it is asked for, before it has paid for a call about every mail. */
export class FailureStreak {
  private failures = 0;

  constructor(private readonly modelId: string) {}

  /** `problem`: what was wrong with a reply; null: nothing. Throws after too many in a row. */
  add(problem: string | null): void {
    this.failures = problem === null ? 0 : this.failures + 1;
    if (this.failures < MAX_FAILURES) return;
    throw new UnusableModel(
      "model_failed",
      `${this.modelId} gave nothing usable ${MAX_FAILURES} times in a row, the last time because ${problem}`,
      "Take another model; replies so far are in the cache.",
      1,
    );
  }
}
