import { UserError } from "../../../domain/errors.js";
import { flagName } from "../../../platform/flag-name.js";
import type { Db } from "../../../store/connection/open-store.js";
import { getAgent } from "../../../store/registry/agent-rows.js";
import { pinEvals } from "../../evals/evals-as-scorers.js";
import { artESuite } from "../../questions/art-e-suite.js";
import type { AppContext } from "../../use-case-context.js";
import { createModel } from "../create-model.js";
import { checkMailboxes } from "./check-mailboxes.js";
import { agentTargetOf, refuseFlagsTargetIgnores, usesMailHere } from "./choose-agent-target.js";
import { refuseOracle } from "./choose-oracle.js";
import { newRunPlan } from "./new-run-plan.js";
import { externalAgentSettings, newRunSettings } from "./new-settings.js";
import { noteUnsetConditions } from "./note-differences-from-published.js";
import { agentOfNewRun, type RunOptionName, type RunRequest } from "./run-options.js";
import type { RunPlan } from "./run-plan.js";

/** Options that are about the tasks of a suite. */
const ONLY_FOR_SUITES: readonly RunOptionName[] = [
  "task",
  "tool",
  "tag",
  "index",
  "counterparts",
  "functions",
  "accountSettings",
];

function refuseSuiteOptions(given: ReadonlySet<string>): void {
  const other = ONLY_FOR_SUITES.find((name) => given.has(name));
  if (other === undefined) return;
  const message = `${flagName(other)} is for tasks of a suite, and --suite is not given.`;
  throw new UserError("flags_contradict", message, "Add --suite DIR, or leave it out.");
}

/** Loads and selects the questions of a new run, and creates its model. */
export async function planNewRun(db: Db, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { options, given, callsModel } = request;
  refuseSuiteOptions(given);
  const { env } = context.settings;
  const agentId = agentOfNewRun(options);
  const target = agentTargetOf(options, env);
  if (target !== undefined) refuseFlagsTargetIgnores(target, request);
  if (target?.kind === "api" && options.apiUrl === undefined) {
    context.note(`The agent is one of ${target.url}, as API_URL says.`);
  }
  const unpinned =
    target === undefined
      ? newRunSettings(db, options, getAgent(db, agentId), context)
      : externalAgentSettings(target, agentId, options, env);
  const settings = { ...unpinned, scorers: await pinEvals(db, unpinned.scorers, context.settings) };
  refuseOracle(settings.model, options.oracle);
  noteUnsetConditions(options, db, context);
  // Before the download: a missing key is found at once.
  const model = await createModel(settings, options, context.settings, { append: false, callsModel });
  const suite = artESuite(settings.cutoff, options, context);
  const list = await suite.list();
  if (usesMailHere(settings.elsewhere)) checkMailboxes(db, list.tasks, options.partialInboxes);
  return newRunPlan(db, { suite, list, settings, model }, options);
}
