import { z } from "zod";
import { JUDGE_MODELS } from "../../models/model-names.js";
import type { Environment } from "../../platform/environment.js";
import { UserError } from "../../platform/errors.js";
import { checkToken } from "../command.js";
import { readText } from "../read-text.js";
import type { Settings } from "../terminal.js";
import { contradiction, file, listText, oneOf, text, url, wholeNumber } from "./read-flags.js";

/** Flags for a server's address and for the token that its clients must send. */
export const listenShape = (port: number) => ({
  port: wholeNumber(0, 65_535).default(port).meta({ description: "Port (0 = any free port)" }),
  host: text
    .default("127.0.0.1")
    .meta({ placeholder: "ADDRESS", description: "Address to listen on (a token is required if it is not loopback)" }),
  token: text.optional().meta({ description: "Token (visible to other users of this machine)" }),
  tokenFile: file.optional().meta({ description: "File with the token [ART_E_TOKEN]" }),
});

interface TokenFlags {
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
}

/** Returns the server token from a flag, otherwise from ART_E_TOKEN, or null if neither is set. */
export function tokenOf(flags: TokenFlags, { env }: Settings): string | null {
  if (flags.token !== undefined && flags.tokenFile !== undefined) {
    throw contradiction("--token and --token-file are given.", "Give one of them.");
  }
  const given = flags.tokenFile === undefined ? flags.token : readText(flags.tokenFile, "--token-file");
  const token = (given ?? env.ART_E_TOKEN ?? "").trim();
  if (token === "" && given === undefined) return null;
  return checkToken(token);
}

export const queueShape = {
  queue: url
    .optional()
    .meta({ description: "Redis server with the queue, as redis://HOST:PORT (required) [ART_E_QUEUE_URL]" }),
};

export function queueUrlOf({ queue }: { readonly queue?: string | undefined }, { env }: Settings): string {
  const url = queue ?? env.ART_E_QUEUE_URL;
  if (url) return url;
  throw new UserError(
    "flag_missing",
    "--queue is missing.",
    "Name the Redis server: --queue redis://HOST:PORT, or ART_E_QUEUE_URL, which keeps a password out of the list of processes.",
  );
}

export const protocolShape = {
  protocol: oneOf(["art"]).optional().meta({
    description:
      "art: the conditions of the published ART-E figures (agent art-e, the first 100 test questions with one gold email, no known bad ones, no cutoff, ART's judge). Other flags override it",
  }),
};

type Given = Readonly<Record<string, unknown>>;

/** Adds the protocol's values for unspecified flags. */
export async function withProtocol(argv: Given, env: Environment): Promise<Given> {
  if (argv.protocol !== "art" || argv.resume !== undefined || argv.repeat !== undefined) return argv;
  return {
    ...argv,
    agent: argv.agent ?? "art-e",
    split: argv.split ?? "test",
    limit: argv.limit ?? 100,
    maxSources: argv.maxSources ?? 1,
    excludeKnownBad: argv.excludeKnownBad ?? true,
    cutoff: argv.cutoff ?? "off",
    ...(argv.judge !== undefined || argv.noJudge === true || argv.stats === true ? {} : { judge: await artJudge(env) }),
  };
}

/**
 * Returns the protocol's judge. A small Google model judged the published figures. Without a Google key, falls back to
 * any cheap model with a key.
 */
async function artJudge(env: Environment): Promise<string> {
  const { anyCheapModel } = await import("../../scoring/judge-settings.js");
  const { hasKey } = await import("../../models/open-model.js");
  const name = hasKey("google", env) ? `google/${JUDGE_MODELS.google}` : anyCheapModel(env)?.id;
  if (name !== undefined) return `art:${name}`;
  throw new UserError(
    "judge_missing",
    "--protocol art has the answers judged, and there is no key for a judge.",
    "Set the key of a provider, name a judge (--judge art:provider/model), or add --no-judge.",
  );
}

export const overwriteShape = {
  overwrite: z.boolean().default(false).meta({ description: "Replace an output file of another kind" }),
};

export const configShape = {
  config: file.optional().meta({
    description:
      "Config file, or off. Flags override it [default: art-e.yaml here or next to the database, if it exists]",
  }),
  only: listText.optional().meta({
    description: "Only these runs from the config file, separated by commas",
  }),
};

/** Number of concurrent tasks, or `auto`. */
export const concurrency = z
  .string()
  .regex(/^(auto|[1-9]\d{0,3})$/, "expected auto, or a whole number from 1 to 9999")
  .transform((text) => (text === "auto" ? ("auto" as const) : Number(text)))
  .default("auto");
