import type { Environment } from "./environment.js";

/** What use cases take from the global flags and the environment. */
export interface AppSettings {
  /** Path of the database. */
  readonly db: string;
  /** Folder for downloads and cached replies. */
  readonly cacheDir: string;
  /** Gets what an agent's program writes to stderr; null: nobody wants it. */
  readonly agentStderr: ((text: string) => void) | null;
  readonly env: Environment;
}

/** Progress of a long operation. `total` is null while it is unknown. */
export interface ProgressBar {
  update(done: number, total: number | null, detail: string): void;
  stop(): void;
}

/** Port: a person who answers in place of an agent. */
export interface Person {
  show(text: string): void;
  /** One line from the person. Rejects with the signal's reason, or with `PersonLeft` at the end of the input. */
  ask(prompt: string, signal: AbortSignal): Promise<string>;
  close(): void;
}

/** The person's input has ended. */
export class PersonLeft extends Error {
  override readonly name = "PersonLeft";
}

/** What a use case gets from whoever calls it: settings, a place for notes and progress, and cancellation. */
export interface AppContext {
  readonly settings: AppSettings;
  /** One line for the user that is no result. */
  note(text: string): void;
  /** Nothing is shown before the first update. */
  progress(title: string): ProgressBar;
  /** Opens the terminal for a person as the agent. Absent if the caller has none. */
  readonly openPerson?: () => Person;
  /** Aborts when the user asks to stop: finish what is under way, begin nothing new. */
  readonly signal: AbortSignal;
  /** Aborts when the user asks to stop a second time. `message` is shown at the first. */
  untilSecond(message: () => string): AbortSignal;
}

/** The user stopped the work. The message says what was saved and how to go on. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}
