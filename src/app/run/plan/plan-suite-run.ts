import type { RunSettings } from "../../../domain/runs/benchmark-result.js";
import type { Db } from "../../../store/connection/open-store.js";
import { getAgent } from "../../../store/registry/agent-rows.js";
import { openSuiteFolder } from "../../../suites/definition/suite-folder.js";
import { suiteScorers } from "../../score/choose-scorers.js";
import { openFolderSuite } from "../../suites/folder-suite.js";
import type { AppContext } from "../../use-case-context.js";
import { createModel, modelNameOf } from "../create-model.js";
import { checkMailboxes } from "./check-mailboxes.js";
import { oracleSettings } from "./choose-oracle.js";
import { newRunPlan } from "./new-run-plan.js";
import { newRunSettings } from "./new-settings.js";
import { refuseDatasetFlags, refuseMailFlags, type SuiteMail, suiteMail } from "./refuse-suite-flags.js";
import { agentOfNewRun, type RunRequest } from "./run-options.js";
import type { RunPlan } from "./run-plan.js";

/** A new run over the tasks of a suite. All that are selected, unless --limit is given. */
export async function planSuiteRun(db: Db, folder: string, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { options, given, isEstimate } = request;
  refuseDatasetFlags(given);
  const agent = getAgent(db, agentOfNewRun(options));
  const oracle = oracleSettings(modelNameOf(options, agent).id, options.oracle, openSuiteFolder(folder));
  const limit = given.has("limit") && options.limit > 0 ? options.limit : null;
  const suite = await openFolderSuite(folder, { ...options, ...oracle, limit }, context);
  const list = await suite.list();
  const mail = suiteMail(list.tasks);
  refuseMailFlags(given, mail);
  if (mail.inboxes.length > 0) checkMailboxes(db, mail.inboxes, options.partialInboxes);
  const asked = mail.hasAnswers ? options : { ...options, noJudge: true };
  const settings = { ...scoredBy(newRunSettings(db, asked, agent, context), mail, request), ...oracle };
  const model = await createModel(settings, options, context.settings, { append: false, isEstimate });
  return newRunPlan(db, { suite, list, settings, model }, options);
}

function scoredBy(settings: RunSettings, { hasAnswers }: SuiteMail, { options }: RunRequest): RunSettings {
  const judge = hasAnswers ? settings.judge : null;
  return { ...settings, judge, scorers: suiteScorers(options.scorers, { hasAnswers, hasVerdicts: judge !== null }) };
}
