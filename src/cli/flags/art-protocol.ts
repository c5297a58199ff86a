// The values of `--protocol art`, with which published figures can be compared.
import { JUDGE_MODELS } from "../../models/model-names.js";
import type { Environment } from "../../platform/environment.js";
import { UserError } from "../../platform/errors.js";
import { flagsWhere, RUN_FLAGS } from "../../runs/run-flags.js";

type Given = Readonly<Record<string, unknown>>;

/** Adds the protocol's values for unspecified flags. */
export async function withProtocol(argv: Given, env: Environment): Promise<Given> {
  if (argv.protocol !== "art" || argv.resume !== undefined || argv.repeat !== undefined) return argv;
  const presets = flagsWhere(({ artProtocol }) => artProtocol !== undefined)
    .filter((name) => argv[name] === undefined)
    .map((name) => [name, RUN_FLAGS[name].artProtocol]);
  const needsJudge = argv.judge === undefined && argv.noJudge !== true && argv.stats !== true;
  return { ...argv, ...Object.fromEntries(presets), ...(needsJudge ? { judge: await artJudge(env) } : {}) };
}

/**
 * Returns the protocol's judge. A small Google model judged the published figures. Without a Google key, falls back to
 * any cheap model with a key.
 */
async function artJudge(env: Environment): Promise<string> {
  const { anyCheapModel } = await import("../../scoring/judge-settings.js");
  const { hasKey } = await import("../../models/connections.js");
  const name = hasKey("google", env) ? `google/${JUDGE_MODELS.google}` : anyCheapModel(env)?.id;
  if (name !== undefined) return `art:${name}`;
  throw new UserError(
    "judge_missing",
    "--protocol art requires a judge, but no API key for one is set.",
    "Set a provider's key, pass a judge (--judge art:provider/model), or add --no-judge.",
  );
}
