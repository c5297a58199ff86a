// Flags for a server's address and token.
import { file, text, wholeNumber } from "../../platform/flag-values.js";
import { checkToken } from "../command.js";
import type { Settings } from "../settings.js";
import { contradiction } from "./define-command.js";
import { readText } from "./read-text.js";

interface TokenFlags {
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
}

/** Flags for a server's address and for the token that its clients must send. */
export const listenShape = (port: number) => ({
  port: wholeNumber(0, 65_535).default(port).meta({ description: "Port (0 = any free port)" }),
  host: text
    .default("127.0.0.1")
    .meta({ placeholder: "ADDRESS", description: "Address to listen on (a token is required if it is not loopback)" }),
  token: text.optional().meta({ description: "Token (visible to other users of this machine)" }),
  tokenFile: file.optional().meta({ description: "File with the token [ART_E_TOKEN]" }),
});

/** Returns the server token from a flag, otherwise from ART_E_TOKEN, or null if neither is set. */
export function tokenOf(flags: TokenFlags, { env }: Settings): string | null {
  if (flags.token !== undefined && flags.tokenFile !== undefined) {
    throw contradiction("--token and --token-file cannot be combined.", "Remove one of them.");
  }
  const tokenText = flags.tokenFile === undefined ? flags.token : readText(flags.tokenFile, "--token-file");
  const token = (tokenText ?? env.ART_E_TOKEN ?? "").trim();
  if (token === "" && tokenText === undefined) return null;
  return checkToken(token);
}
