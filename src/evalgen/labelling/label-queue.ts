import { seededRandom } from "../../statistics/seeded-random.js";

/** After so many new traces an old one is asked again: a tenth of all. */
const NEW_BETWEEN_REPEATS = 9;

export interface QueuedTrace {
  readonly traceId: string;
  /** It was labelled before, and is asked again to measure self-agreement. */
  readonly isRepeat: boolean;
}

/** Which trace to label next. */
export class LabelQueue {
  private readonly repeats: string[];
  private sinceRepeat = 0;
  private readonly random: (limit: number) => number;

  /** `traces`: to label, the most urgent first. `labelled`: by a person, before. */
  constructor(
    private readonly traces: readonly string[],
    labelled: Iterable<string>,
    seed: number,
  ) {
    this.repeats = [...labelled].sort();
    this.random = seededRandom(seed);
  }

  *[Symbol.iterator](): Generator<QueuedTrace> {
    for (const traceId of this.traces) {
      if (this.sinceRepeat === NEW_BETWEEN_REPEATS && this.repeats.length > 0) {
        this.sinceRepeat = 0;
        const [repeat = ""] = this.repeats.splice(this.random(this.repeats.length), 1);
        yield { traceId: repeat, isRepeat: true };
      }
      this.sinceRepeat++;
      yield { traceId, isRepeat: false };
    }
  }
}
