/** One score of a trace, for the score API of a server. */
export interface ScoreRecord {
  /** 32 hex digits. */
  readonly traceId: string;
  readonly name: string;
  readonly value: number;
  readonly explanation: string | null;
  /** A model gave it, and not a function. */
  readonly byModel: boolean;
}
