/** `error`: the task cannot be set up or graded as its file says, or files contradict each other. */
export type FindingLevel = "error" | "warning";

/** What a check found, and where. */
export interface SuiteFinding {
  readonly level: FindingLevel;
  /** In snake_case: `file_missing`. */
  readonly code: string;
  /** Id of the task; null where it is about no task that could be read. */
  readonly task: string | null;
  /** Relative to the suite's root. */
  readonly file: string;
  /** `config[0].arguments.local_path`; empty: the whole file. */
  readonly field: string;
  readonly message: string;
}

/** The path of a field as people write it: `config[0].func`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (written, part) =>
      typeof part === "number" ? `${written}[${part}]` : `${written}${written === "" ? "" : "."}${String(part)}`,
    "",
  );
}
