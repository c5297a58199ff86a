const RULE = "═".repeat(60);

/** A titled block of aligned labels and values, as the published runner prints its results. */
export function summaryBox(title: string, rows: readonly (readonly [label: string, value: string])[]): string {
  const width = Math.max(...rows.map(([label]) => label.length)) + 2;
  const lines = rows.map(([label, value]) => `${`${label}:`.padEnd(width)}${value}`);
  return [RULE, title, RULE, ...lines, RULE].join("\n");
}
