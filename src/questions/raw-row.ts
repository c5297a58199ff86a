/** A row as a reader found it, not yet checked. */
export interface RawRow {
  /** Its place in words for the user: `row 3`, `line 12`. Counting begins at 1. */
  readonly where: string;
  readonly value: unknown;
}
