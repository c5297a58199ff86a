import { UserError } from "../../domain/errors.js";
import { readText } from "../cli/read-text.js";
import type { Settings } from "../cli/settings.js";

interface TokenFlags {
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
}

/** The token that requests must have: of a flag, else of ART_E_TOKEN; null: none. */
export function tokenOf(flags: TokenFlags, { env }: Settings): string | null {
  if (flags.token !== undefined && flags.tokenFile !== undefined) {
    throw new UserError("flags_contradict", "--token and --token-file are given.", "Give one of them.");
  }
  const given = flags.tokenFile === undefined ? flags.token : readText(flags.tokenFile, "--token-file");
  const token = (given ?? env.ART_E_TOKEN ?? "").trim();
  if (token === "" && given === undefined) return null;
  if (/^[\x21-\x7e]{16,}$/.test(token)) return token;
  throw new UserError(
    "serve_token",
    "The token cannot be used: expected at least 16 characters without white space.",
    "Make one: openssl rand -hex 24.",
  );
}

/** The origin whose pages may call the API. */
export function originOf(cors: string): string {
  if (URL.canParse(cors) && new URL(cors).origin === cors) return cors;
  throw new UserError(
    "flag_invalid",
    "--cors: expected one origin, such as http://localhost:3000.",
    "See art-e serve --help.",
  );
}
