// Templates for texts that say one thing in many ways: "{Please|Kindly} add the $thing."

/** A seeded random number generator: integers from 0 to `limit` - 1. */
export type Random = (limit: number) => number;

export function pick<T>(items: readonly T[], random: Random): T {
  const item = items[random(items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

/** Chooses one of each `{a|b}`, also if they are nested, and fills in each `$name`. */
export function spin(template: string, values: Readonly<Record<string, string>>, random: Random): string {
  let text = template;
  for (let before = ""; before !== text; ) {
    before = text;
    text = text.replace(/\{([^{}]*)\}/g, (_, options: string) => pick(options.split("|"), random));
  }
  return text.replace(/\$(\w+)/g, (_, name: string) => values[name] ?? "");
}
