import { parseEnv } from "node:util";
import { UserError } from "./errors.js";
import { readNamedFile } from "./files.js";
import { trimEndOf } from "./strings.js";

/** The path of the `.env` file, in the working folder. */
const ENV_FILE = Symbol("what .env says");

/** The environment; variables it does not set come from `.env`. */
export type Environment = Readonly<Record<string, string | undefined>> & {
  readonly [ENV_FILE]?: {
    readonly values: Readonly<Record<string, string | undefined>>;
    /** The variables that come from `.env`. */
    readonly used: ReadonlySet<string>;
    /** Numbers of the lines that set nothing, from 1. */
    readonly malformed: readonly number[];
  };
};

export function readEnvironment(): Environment {
  let text: string;
  try {
    text = readNamedFile(".env").toString();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "EISDIR") return process.env;
    throw new UserError("env_unreadable", `.env cannot be read: ${message}`, "Check that you may read it.");
  }
  const values = parseEnv(text);
  const used = new Set(Object.keys(values).filter((name) => process.env[name] === undefined));
  return { ...values, ...process.env, [ENV_FILE]: { values, used, malformed: malformedLines(text) } };
}

/** A line each about what `.env` holds and does not set. What stands there is not shown: it may be a key. */
export function notesOnEnvFile(env: Environment): string[] {
  return (env[ENV_FILE]?.malformed ?? []).map(
    (line) => `art-e: .env, line ${line} sets nothing: expected NAME=VALUE, or # before a comment.`,
  );
}

function malformedLines(text: string): number[] {
  const malformed: number[] = [];
  let quote: string | null = null;
  const lines = text.split(/\r?\n/);
  for (const [i, line] of lines.entries()) {
    if (quote !== null) {
      if (line.includes(quote)) quote = null;
      continue;
    }
    if (/^\s*(#|$)/.test(line)) continue;
    const [, value] = /^\s*(?:export\s+)?[\w.-]+\s*=\s*(.*)$/.exec(line.replace(/^\uFEFF/, "")) ?? [];
    if (value === undefined) malformed.push(i + 1);
    const [opening] = value?.match(/^["'`]/) ?? [];
    // A quoted value may go on over several lines.
    const isOpen = opening !== undefined && !value?.slice(1).includes(opening);
    if (isOpen && lines.slice(i + 1).some((later) => later.includes(opening))) quote = opening;
  }
  return malformed;
}

/** An address in an environment variable, with the variables of its keys. */
export interface AddressedKey {
  readonly url: string;
  /** Variables of the key: the first that is set is used. */
  readonly keys: readonly string[];
  readonly flag: string;
}

/** The providers' own addresses, which a `.env` file may name. */
const MAKERS: ReadonlySet<string | undefined> = new Set([
  "https://api.anthropic.com",
  "https://api.openai.com",
  "https://generativelanguage.googleapis.com",
  "https://huggingface.co",
]);

/** Whether the address comes from `.env` and is not a provider's own. */
export function isFromFile(env: Environment, url: string, value: string): boolean {
  const file = env[ENV_FILE];
  if (file === undefined || !file.used.has(url) || MAKERS.has(URL.parse(value)?.origin)) return false;
  return normalized(file.values[url] ?? "") === normalized(value);
}

/** Addresses are compared without trailing slashes. */
function normalized(value: string): string {
  return trimEndOf(URL.parse(value)?.href ?? value.trim(), "/");
}

/**
 * The key for an address: that of `.env` where `.env` names the address, whatever the environment says. That of the
 * environment goes there only if the address was named on a command line too: see `refuseStrangeAddress`. Null: there
 * is none.
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
 * Refuses an address that `.env` alone names where the key for it stands in the environment: whoever wrote the file
 * that lies in this folder must not learn the keys of whoever works here.
 */
export function refuseStrangeAddress({ url, keys, flag }: AddressedKey, value: string, env: Environment): void {
  if (!isFromFile(env, url, value) || keys.some((key) => env[ENV_FILE]?.values[key])) return;
  const key = keys.find((name) => env[name]);
  if (key === undefined) return;
  const host = URL.parse(value)?.host ?? "an address that cannot be read";
  throw new UserError(
    "env_address",
    `.env in this folder sets ${url} to ${host}, and ${key} comes from the environment: it is not sent there.`,
    `If you trust that address, give it with ${flag}, or put ${key} into the same .env.`,
  );
}
