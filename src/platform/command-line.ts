/** The database that command lines in messages name; null: the one that a call without --db opens. */
let shownDatabase: string | null = null;

/** Of this process, whose notes and errors are written in many places for one user, who has chosen one database. */
export function showDatabase(path: string | null): void {
  shownDatabase = path;
}

/**
 * A command line for the user to paste: commandLine`art-e show ${traceId}`. Values are quoted for a shell where they
 * need it, and the database is named where a call without --db would open another.
 */
export function commandLine(words: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  const line = words.reduce((before, part, i) => `${before}${shellWord(String(values[i - 1]))}${part}`);
  return shownDatabase === null ? line : `${line} --db ${shellWord(shownDatabase)}`;
}

/** As one word for bash, zsh and fish. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
