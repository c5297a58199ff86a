/** A row before validation. */
export interface RawRow {
  /** For messages, counted from 1: `row 3`, `line 12`. */
  readonly where: string;
  readonly value: unknown;
}
