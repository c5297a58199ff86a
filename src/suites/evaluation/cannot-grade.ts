/** The task cannot be graded here: what it asks for is not there, which says nothing about the agent's work. */
export class CannotGrade extends Error {
  override readonly name = "CannotGrade";

  constructor(
    readonly state: "unsupported" | "needs_account",
    reason: string,
  ) {
    super(reason);
  }
}
