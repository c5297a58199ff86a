/** Exit codes of the program. */
export const EXIT = { done: 0, failed: 1, usage: 2, gate: 3, interrupted: 130 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * An error that the user can fix. It is printed once, as one line and a hint, without a stack. `message` says what
 * failed and where (file, row, flag), `hint` says what to do, and `code` is in snake_case.
 */
export class UserError extends Error {
  override readonly name = "UserError";

  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly exitCode: ExitCode = EXIT.usage,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** Returns the message of a thrown value. User code can throw anything, including values that cannot be read. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return "an error without a message";
  }
}

/** Returns whether an error has one of these codes, such as ENOENT. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** The reason in an error's message, without the code, system call and path that Node adds to errors of files. */
export function reasonOf(error: unknown): string {
  return messageOf(error).replace(/^E[A-Z0-9]+: (.+?), \w+(?: .*)?$/s, "$1");
}
