/** Reads the commands that a page shows with their output, and compares the output with the program's. */

export interface Documented {
  readonly line: string;
  /** Output lines shown on the page. `...` replaces the others. */
  readonly shown: readonly string[];
}

/** Returns the commands after `$` in the code blocks of a page. */
export function documentedCommands(page: string): Documented[] {
  return [...page.matchAll(/^```(?:console)?\n(\$ .*?)^```/gms)].flatMap(([, block = ""]) =>
    block.split(/^\$ /m).flatMap((part): Documented[] => {
      const [line = "", ...shown] = part.trimEnd().split("\n");
      return line === "" ? [] : [{ line, shown: shown.filter((one) => one.trim() !== "" && one !== "...") }];
    }),
  );
}

/** Returns the first shown line that the program did not print in this order, or null. */
export function firstMissing(shown: readonly string[], printed: string): string | null {
  const lines = printed.split("\n").map(withoutChance);
  let next = 0;
  for (const line of shown) {
    const at = lines.indexOf(withoutChance(line), next);
    if (at === -1) return line;
    next = at + 1;
  }
  return null;
}

/** A line without ids, times and the widths of columns, which differ in every run. If it has any, spaces do not count. */
function withoutChance(line: string): string {
  const changed = line
    .replace(/run_\d{8}-\d{6}_[0-9a-f]{6}/g, "RUN")
    .replace(/trace_[0-9a-f]{8}-[0-9a-f-]{27}/g, "TRACE")
    .replace(/\b\d+(\.\d+)? (ms|s|MB)\b/g, "N $2")
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "TIME")
    .replace(/─+/g, "─");
  return changed === line ? line.trimEnd() : changed.replace(/ +/g, " ").trim();
}
