/** What an export says beside its file: what it wrote, what it left out and why. */
export class ExportReport {
  private readonly reasons = new Map<string, number>();
  private readonly noted: string[] = [];

  /** Counts a trace that is not in the file. */
  leaveOut(reason: string): void {
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
  }

  note(line: string): void {
    this.noted.push(line);
  }

  get leftOut(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.reasons);
  }

  get notes(): readonly string[] {
    return this.noted;
  }
}
