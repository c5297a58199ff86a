import { UserError } from "../../domain/errors.js";
import { isLoopback } from "../../platform/http/host-and-origin.js";
import { parseHttpUrl } from "../../platform/http/http-url.js";
import type { ConfigSetting } from "./parse-config.js";

/**
 * Refuses what a file that merely lies in the folder may not say: where keys of the environment are sent, and which
 * programs are run. Whoever wrote it must not learn the keys of whoever works here.
 */
export function refuseUntrusted(settings: readonly ConfigSetting[], path: string): void {
  const found = settings.find(
    ({ trusted, value }) => trusted === "program" || (trusted === "address" && !isOfThisMachine(value)),
  );
  if (found === undefined) return;
  const does = found.trusted === "program" ? "names a program to run" : "names a server that keys may be sent to";
  throw new UserError(
    "config_untrusted",
    `${path}:${found.line}: ${found.name} ${does}, in a file that --config does not name.`,
    `If you trust the file: --config ${path}.`,
  );
}

function isOfThisMachine(address: unknown): boolean {
  return isLoopback(parseHttpUrl(String(address))?.hostname ?? "");
}
