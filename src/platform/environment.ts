// The process environment with `.env`, and which API key may be sent to which server.
import { parse } from "dotenv";
import { reasonOf, UserError } from "./errors.js";
import { readNamedText } from "./files.js";
import { trimEndOf } from "./trim-end.js";

/** Path of the `.env` file, in the working directory. */
const ENV_FILE = Symbol("what .env says");

/** The process environment, extended by variables from `.env`. */
export type Environment = Readonly<Record<string, string | undefined>> & {
  readonly [ENV_FILE]?: {
    readonly values: Readonly<Record<string, string | undefined>>;
    /** Names of the variables that come from `.env`. */
    readonly used: ReadonlySet<string>;
    /** Line numbers, from 1, of the lines that set nothing. */
    readonly malformed: readonly number[];
  };
};

/** A base URL from an environment variable, with the variables of its keys. */
export interface AddressedKey {
  readonly url: string;
  /** Variables for the key. The first one that is set is used. */
  readonly keys: readonly string[];
  readonly flag: string;
}

export function readEnvironment(): Environment {
  let text: string;
  try {
    text = readNamedText(".env");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "EISDIR") return process.env;
    throw new UserError("env_unreadable", `Cannot read .env: ${reasonOf(error)}.`, "Make the file readable.");
  }
  const values = parse(text);
  const used = new Set(Object.keys(values).filter((name) => process.env[name] === undefined));
  return { ...values, ...process.env, [ENV_FILE]: { values, used, malformed: malformedLines(text) } };
}

/** Returns one note per malformed line in `.env`, without the line itself, which could be a key. */
export function notesOnEnvFile(env: Environment): string[] {
  return (env[ENV_FILE]?.malformed ?? []).map(
    (line) => `art-e: .env line ${line}: expected NAME=VALUE, or # before a comment. The line was ignored.`,
  );
}

function malformedLines(text: string): number[] {
  const malformed: number[] = [];
  let quote: string | null = null;
  const lines = text.split(/\r\n?|\n/);
  for (const [i, line] of lines.entries()) {
    if (quote !== null) {
      if (line.includes(quote)) quote = null;
      continue;
    }
    if (/^\s*(#|$)/.test(line)) continue;
    const [, value] = /^\s*(?:export\s+)?[\w.-]+(?:\s*=|:\s)\s*(.*)$/.exec(line) ?? [];
    if (value === undefined) malformed.push(i + 1);
    const [opening] = value?.match(/^["'`]/) ?? [];
    // A quoted value can span several lines.
    const isOpen = opening !== undefined && !value?.slice(1).includes(opening);
    if (isOpen && lines.slice(i + 1).some((later) => later.includes(opening))) quote = opening;
  }
  return malformed;
}

/** The providers' own URLs, which a `.env` file may set. */
const MAKERS: ReadonlySet<string | undefined> = new Set([
  "https://api.anthropic.com",
  "https://api.openai.com",
  "https://generativelanguage.googleapis.com",
  "https://huggingface.co",
]);

/** Returns whether the URL comes from `.env` and is not a provider's own. */
export function isFromFile(env: Environment, url: string, value: string): boolean {
  const file = env[ENV_FILE];
  if (file === undefined || !file.used.has(url) || MAKERS.has(URL.parse(value)?.origin)) return false;
  return normalized(file.values[url] ?? "") === normalized(value);
}

/** URLs are compared without trailing slashes. */
function normalized(value: string): string {
  return trimEndOf(URL.parse(value)?.href ?? value.trim(), "/");
}

/**
 * Returns the key for a URL, or null if there is none. If `.env` sets the URL, its key takes precedence over the
 * environment's. The environment's key goes there only if the command line also names the URL (see
 * `refuseStrangeAddress`).
 */
export function keyFor({ url, keys }: AddressedKey, value: string | null, env: Environment): string | null {
  const isOfFile = value !== null && isFromFile(env, url, value);
  return (isOfFile ? firstOf(keys, env[ENV_FILE]?.values ?? {}) : null) ?? firstOf(keys, env);
}

function firstOf(names: readonly string[], values: Readonly<Record<string, string | undefined>>): string | null {
  const name = names.find((key) => values[key]);
  return name === undefined ? null : (values[name] ?? null);
}

/**
 * Refuses a URL that only `.env` sets if its key is in the environment: the author of a `.env` file in this folder must
 * not learn the user's keys.
 */
export function refuseStrangeAddress({ url, keys, flag }: AddressedKey, value: string, env: Environment): void {
  if (!isFromFile(env, url, value) || keys.some((key) => env[ENV_FILE]?.values[key])) return;
  const key = keys.find((name) => env[name]);
  if (key === undefined) return;
  const host = URL.parse(value)?.host ?? "an invalid URL";
  throw new UserError(
    "env_url_untrusted",
    `Cannot send ${key} from the environment to ${host}: the address is from .env in this folder (${url}).`,
    `If you trust that server, pass its URL with ${flag}, or put ${key} into the same .env.`,
  );
}
