import { NamedCounts } from "../statistics/named-counts.js";

/** What an export says beside its file: what it wrote, what it left out and why. */
export class ExportReport {
  private readonly reasons = new NamedCounts();
  private readonly noted: string[] = [];

  /** Counts a trace that is not in the file. */
  leaveOut(reason: string): void {
    this.reasons.add(reason);
  }

  note(line: string): void {
    this.noted.push(line);
  }

  get leftOut(): Readonly<Record<string, number>> {
    return this.reasons.counts;
  }

  get notes(): readonly string[] {
    return this.noted;
  }
}
