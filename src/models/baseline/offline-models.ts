import { UserError } from "../../domain/errors.js";
import type { Completion, Model, ModelRequest } from "../../domain/models/model.js";
import { baselineReply } from "./offline-baseline.js";
import { offlineAnswer } from "./offline-completion.js";
import { oracleReply } from "./offline-oracle.js";

/**
 * Models that are no language models and send nothing; the same request gets the same reply. They play through the
 * agent's own tools, and so show the whole of a run.
 */
const REPLIES: Readonly<Record<string, (request: ModelRequest) => Completion>> = {
  baseline: baselineReply,
  noop: (request) => offlineAnswer(request, "Nothing was done."),
  oracle: oracleReply,
};

/** Throws a UserError for an unknown name. */
export function offlineModel(name: string): Model {
  const reply = Object.hasOwn(REPLIES, name) ? REPLIES[name] : undefined;
  if (reply === undefined) {
    const known = Object.keys(REPLIES).map((one) => `offline/${one}`);
    throw new UserError("unknown_model", `There is no offline model ${name}.`, `There are ${known.join(", ")}.`);
  }
  return {
    id: `offline/${name}`,
    async complete(request, signal) {
      signal.throwIfAborted();
      return reply(request);
    },
  };
}
