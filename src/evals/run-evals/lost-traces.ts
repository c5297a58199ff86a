/** Stops after this many traces that timed out or killed the process, in a row or in total. */
const MAX_IN_A_ROW = 5;
const MAX_IN_TOTAL = 25;

/** Counts the traces on which an eval's code timed out or died, to stop running code that never finishes. */
export class LostTraces {
  private inARow = 0;
  private total = 0;

  add(isLost: boolean): void {
    this.inARow = isLost ? this.inARow + 1 : 0;
    if (isLost) this.total++;
  }

  /** Why the remaining traces are not run, or null if they are. */
  get reasonToStop(): string | null {
    if (this.inARow < MAX_IN_A_ROW && this.total < MAX_IN_TOTAL) return null;
    return `not run: the eval timed out or died on ${this.total} earlier traces`;
  }
}
