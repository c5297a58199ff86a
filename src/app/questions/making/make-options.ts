/** Questions as a user asks for them. */
export interface MakeOptions {
  /** Addresses; none: every imported mailbox. */
  readonly inbox: readonly string[];
  readonly number: number;
  /** Path of the dataset. */
  readonly output: string;
  /** provider/model or offline/patterns. */
  readonly model: string;
  readonly baseUrl?: string | undefined;
  /** provider/model or off; undefined: the model itself, and none for offline/patterns. */
  readonly checker?: string | undefined;
  readonly checkerBaseUrl?: string | undefined;
  /** Share of the questions that cannot be answered, 0 to 1. */
  readonly unanswerable: number;
  /** Share of the mailboxes whose questions are for training, 0 to 1. */
  readonly train: number;
  readonly seed: number;
  readonly maxCost?: number | undefined;
  readonly overwrite: boolean;
}

export const PATTERNS_MODEL = "offline/patterns";
