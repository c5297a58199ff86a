import { UserError } from "../../domain/errors.js";
import { checkToken } from "../cli/check-token.js";
import { readText } from "../cli/read-text.js";
import type { Settings } from "../cli/settings.js";

interface TokenFlags {
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
}

/** The token of a server: of a flag, else of ART_E_TOKEN; null: none. */
export function tokenOf(flags: TokenFlags, { env }: Settings): string | null {
  if (flags.token !== undefined && flags.tokenFile !== undefined) {
    throw new UserError("flags_contradict", "--token and --token-file are given.", "Give one of them.");
  }
  const given = flags.tokenFile === undefined ? flags.token : readText(flags.tokenFile, "--token-file");
  const token = (given ?? env.ART_E_TOKEN ?? "").trim();
  if (token === "" && given === undefined) return null;
  return checkToken(token);
}
