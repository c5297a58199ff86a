// What every operation gets from its caller: settings, an abort signal, notes, progress, and a person to ask.
import type { Environment } from "./environment.js";

export const DEFAULT_DB = "./art-e.db";
export const DEFAULT_CACHE_DIR = "./.art-e-cache";

/** Settings from the global flags and the environment. */
export interface AppSettings {
  /** Path of the database. */
  readonly db: string;
  /** Folder for downloads and cached replies. */
  readonly cacheDir: string;
  /** Receives an agent program's stderr output, or null to discard it. */
  readonly agentStderr: ((text: string) => void) | null;
  readonly env: Environment;
}

/** Progress of a long operation. `total` is null while it is unknown. */
export interface ProgressBar {
  update(done: number, total: number | null, detail: string): void;
  stop(): void;
}

/** A person who answers in place of an agent. */
export interface Person {
  show(text: string): void;
  /** Reads one line. Rejects with the signal's reason, or with `PersonLeft` at the end of the input. */
  ask(prompt: string, signal: AbortSignal): Promise<string>;
  close(): void;
}

/** The caller's side of an operation: settings, output for notes and progress, and cancellation. */
export interface AppContext {
  readonly settings: AppSettings;
  /** Shows a line to the user that is not part of the result. */
  note(text: string): void;
  /** Creates a progress bar, which is shown after its first update. */
  progress(title: string): ProgressBar;
  /** Opens the terminal for a person as the agent. Absent if the caller has none. */
  readonly openPerson?: () => Person;
  /** Aborts when the user interrupts. Finish running work, and start no more. */
  readonly signal: AbortSignal;
  /** Returns a signal that aborts when the user interrupts a second time. `message` is shown at the first. */
  untilSecond(message: () => string): AbortSignal;
}

/** The person's input has ended. */
export class PersonLeft extends Error {
  override readonly name = "PersonLeft";
}

/** The user interrupted the work. The message says what was saved and how to resume. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}
