import { UserError } from "../../domain/errors.js";
import { API_KEY_VARIABLES } from "../../models/provider-names.js";

const NAMES = /api[-_]?key|token$|secret|password|credential|_key$/i;

/** How the keys of Anthropic, OpenAI, Google, Hugging Face and GitHub look. */
const KEYS = /\b(?:sk-[\w-]{20,}|AIza[\w-]{30,}|hf_\w{20,}|gh[pousr]_\w{20,})/;

export function isSecretName(key: string): boolean {
  return NAMES.test(key);
}

/** Refuses a file that holds a key, in a comment too: such files are shared. The key is not printed. */
export function refuseSecrets(text: string, path: string): void {
  const line = text.split("\n").findIndex((each) => KEYS.test(each));
  if (line !== -1) throw secretInFile(`${path}:${line + 1}: what looks like a key`);
}

export function secretInFile(what: string): UserError {
  const variables = Object.values(API_KEY_VARIABLES).flat().join(", ");
  return new UserError(
    "config_secret",
    `${what} has no place in this file.`,
    `Keys come from the environment, or from .env: ${variables}.`,
  );
}
