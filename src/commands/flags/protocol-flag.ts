import type { Environment } from "../../app/settings/env-file.js";
import { UserError } from "../../domain/errors.js";
import { JUDGE_MODELS } from "../../models/catalog/judge-models.js";
import type { Flags } from "../cli/command.js";
import { oneOf } from "../cli/read-flags.js";

export const PROTOCOL_FLAGS: Flags = {
  protocol: {
    type: "string",
    requiresArg: true,
    describe:
      "art: as the published ART-E figures were made: agent art-e, the first 100 test questions with one gold mail, known bad ones left out, no cutoff, its judge; flags beside it win",
  },
};

export const protocolShape = { protocol: oneOf(["art"]).optional() };

type Given = Readonly<Record<string, unknown>>;

/** The command line, with the protocol's values for flags that were not given. */
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

/** A small model of Google judged the published figures. Without a key for it, any judge with a key. */
async function artJudge(env: Environment): Promise<string> {
  const { anyCheapModel } = await import("../../app/score/judge-settings.js");
  const { hasKey } = await import("../../app/settings/endpoints.js");
  const name = hasKey("google", env) ? `google/${JUDGE_MODELS.google}` : anyCheapModel(env)?.id;
  if (name !== undefined) return `art:${name}`;
  throw new UserError(
    "judge_missing",
    "--protocol art has the answers judged, and there is no key for a judge.",
    "Set the key of a provider, name a judge (--judge art:provider/model), or add --no-judge.",
  );
}
