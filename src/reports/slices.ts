import type { TaskResult } from "../domain/result.js";
import { realismBand } from "./bands.js";
import type { ScoreMeaning, Slice, Slicing } from "./page/data.js";
import { SLICINGS } from "./page/data.js";
import { ScoreTally } from "./score-tally.js";

/** What slice a task is in; the page files its rows by the same words. */
const SLICE_OF: Readonly<Record<Slicing, (result: TaskResult) => string>> = {
  inbox: (result) => result.inbox,
  realism: (result) => realismBand(result.howRealistic),
  sources: (result) => String(result.goldSources),
  year: (result) => result.queryDate.slice(0, 4),
};

/** The scores of a run by mailbox, realism, number of gold mails and year of the question. */
export class Slices {
  private readonly tallies = new Map<Slicing, Map<string, ScoreTally>>();

  constructor(private readonly meanings: readonly ScoreMeaning[]) {}

  add(result: TaskResult): void {
    for (const by of SLICINGS) {
      const slices = this.tallies.get(by) ?? new Map<string, ScoreTally>();
      const label = SLICE_OF[by](result);
      const tally = slices.get(label) ?? new ScoreTally(this.meanings);
      tally.add(result.scores);
      this.tallies.set(by, slices.set(label, tally));
    }
  }

  /** Mailboxes with the most tasks first; the rest in the order of their labels. */
  all(): Record<Slicing, Slice[]> {
    return Object.fromEntries(SLICINGS.map((by) => [by, this.of(by)])) as Record<Slicing, Slice[]>;
  }

  private of(by: Slicing): Slice[] {
    const slices = [...(this.tallies.get(by) ?? [])].map(([label, tally]) => ({
      label,
      tasks: tally.tasks,
      scores: tally.figures(),
    }));
    return by === "inbox"
      ? slices.sort((a, b) => b.tasks - a.tasks || (a.label < b.label ? -1 : 1))
      : slices.sort((a, b) => Number(a.label) - Number(b.label));
  }
}
