import { resolve } from "node:path";
import { UserError } from "../../../domain/errors.js";
import { flagName } from "../../../platform/flag-name.js";
import { SUITE_SCORERS } from "../../../scoring/scorers.js";
import type { Db } from "../../../store/connection/open-store.js";
import { getAgent } from "../../../store/registry/agent-rows.js";
import { openFolderSuite } from "../../suites/folder-suite.js";
import type { AppContext } from "../../use-case-context.js";
import { createModel } from "../create-model.js";
import { newRunPlan } from "./new-run-plan.js";
import { newRunSettings } from "./new-settings.js";
import { agentOfNewRun, type RunOptionName, type RunRequest } from "./run-options.js";
import type { RunPlan } from "./run-plan.js";

/** Options that are about questions, mail or judges, or that only an agent outside of this program has. */
const NOT_FOR_SUITES: readonly RunOptionName[] = [
  "split",
  "dataset",
  "useJson",
  "revision",
  "minRealism",
  "maxSources",
  "ids",
  "inbox",
  "excludeKnownBad",
  "protocol",
  "cutoff",
  "partialInboxes",
  "scorers",
  "judge",
  "noJudge",
  "judgeVotes",
  "judgeBaseUrl",
  "apiUrl",
  "agentCommand",
  "agentUrl",
];

/** A new run over the tasks of a suite. All that are selected, unless --limit is given. */
export async function planSuiteRun(
  db: Db,
  folder: string,
  { options, given, callsModel }: RunRequest,
  context: AppContext,
): Promise<RunPlan> {
  const other = NOT_FOR_SUITES.find((name) => given.has(name));
  if (other !== undefined) {
    throw new UserError("flags_contradict", `${flagName(other)} is not for tasks of a suite.`, "Leave it out.");
  }
  const limit = given.has("limit") && options.limit > 0 ? options.limit : null;
  const suite = await openFolderSuite(folder, { ...options, limit }, context);
  const agent = getAgent(db, agentOfNewRun(options));
  const settings = {
    ...newRunSettings(db, { ...options, noJudge: true }, agent, context),
    scorers: Object.keys(SUITE_SCORERS),
    judge: null,
    ...(options.functions === undefined ? {} : { functions: resolve(options.functions) }),
  };
  const model = await createModel(settings, options, context.settings, { append: false, callsModel });
  return newRunPlan(db, { suite, list: await suite.list(), settings, model }, options);
}
