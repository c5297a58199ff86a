import { createHash } from "node:crypto";
import { UserError } from "../../../domain/errors.js";
import { isEvalScore } from "../../../domain/evals/score-names.js";
import { NO_LIMITS } from "../../../domain/runs/run-limits.js";
import type { PlannedSuiteTask } from "../../../domain/tasks/planned-task.js";
import { flagName } from "../../../platform/flag-name.js";
import { SUITE_SCORERS } from "../../../scoring/scorers.js";
import type { Db } from "../../../store/connection/open-store.js";
import { withWriteTransaction } from "../../../store/connection/write-transaction.js";
import { readFingerprint } from "../../../store/import/corpus-stats.js";
import { getAgent } from "../../../store/registry/agent-rows.js";
import { readSuite } from "../../../suites/definition/read-suite.js";
import { openSuiteFolder, type SuiteFolder } from "../../../suites/definition/suite-folder.js";
import { pinEvals } from "../../evals/evals-as-scorers.js";
import { saveCurrentVersion } from "../../registry/versions.js";
import { selectSuiteTasks } from "../../suites/select-suite-tasks.js";
import type { AppContext } from "../../use-case-context.js";
import { createModel } from "../create-model.js";
import { limitsOf, outputToKeep } from "./choose-limits.js";
import { newRunSettings } from "./new-settings.js";
import { agentOfNewRun, type RunOptionName, type RunOptions, type RunRequest } from "./run-options.js";
import { createRunOnce, newRunId, type RunPlan, repeated, toolsNow } from "./run-plan.js";
import { agentOf } from "./stored-settings.js";

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
  { options, given, isEstimate }: RunRequest,
  context: AppContext,
): Promise<RunPlan> {
  const other = NOT_FOR_SUITES.find((name) => given.has(name));
  if (other !== undefined) {
    throw new UserError("flags_contradict", `${flagName(other)} is not for tasks of a suite.`, "Leave it out.");
  }
  const suite = openSuiteFolder(folder);
  const agent = getAgent(db, agentOfNewRun(options));
  const settings = {
    ...newRunSettings(db, { ...options, noJudge: true }, agent, context),
    scorers: [...SUITE_SCORERS, ...pinEvals(db, suiteEvals(options))],
    judge: null,
  };
  const model = await createModel(settings, options, context.settings, { append: false, isEstimate });
  const tasks = repeated(readTasks(suite, options, given.has("limit"), context), options.epochs);
  const set = { source: suite.root, revision: null, sha256: digestOf(tasks), split: "suite" };
  const runId = newRunId();
  const limits = limitsOf(options, NO_LIMITS);
  const count = tasks.length;
  const output = outputToKeep(options.output);
  const create = createRunOnce(db, { runId, set, tasks, settings, limits, output });
  const { split, ...dataset } = set;
  return {
    runId,
    agent: agentOf(settings),
    settings,
    model,
    tasks: async () => count,
    tools: toolsNow(db, settings),
    limits,
    output: options.output,
    over: { dataset, split, corpusFingerprint: readFingerprint(db) ?? "" },
    async begin(owner, waiting) {
      await withWriteTransaction(db, waiting, () => saveCurrentVersion(db, settings.agentId));
      return create(owner, waiting);
    },
  };
}

/** Of the scorers asked for only evals say something of a suite's task. */
function suiteEvals({ scorers = [] }: RunOptions): readonly string[] {
  const other = scorers.find((name) => !isEvalScore(name));
  if (other === undefined) return scorers;
  throw new UserError("flags_contradict", `--scorers: ${other} is not for tasks of a suite.`, "Name evals only.");
}

function readTasks(
  suite: SuiteFolder,
  options: RunOptions,
  isLimited: boolean,
  { note }: AppContext,
): PlannedSuiteTask[] {
  const { tasks, problems } = readSuite(suite);
  const unreadable = new Set(problems.map(({ file }) => file)).size;
  if (unreadable > 0) {
    note(
      `art-e: ${unreadable} tasks of ${suite.name} cannot be read and are left out: art-e suite check ${suite.root}`,
    );
  }
  const selected = selectSuiteTasks(
    tasks.map(({ task }) => task),
    options,
    suite,
  );
  if (selected.length === 0) {
    throw new UserError(
      "tasks_none",
      `No task of ${suite.name} is selected.`,
      `List them: art-e suite list ${suite.root}`,
    );
  }
  const { name, root } = suite;
  const some = isLimited && options.limit > 0 ? selected.slice(0, options.limit) : selected;
  return some.map((one) => ({ ...one, suite: { name, root } }));
}

/** Of what the task files say: two runs with one digest were over the same tasks. */
function digestOf(tasks: readonly { readonly task: object }[]): string {
  const texts = tasks.map(({ task }) => JSON.stringify({ ...task, folder: "", suite: "" }));
  return createHash("sha256")
    .update([...new Set(texts)].join("\n"))
    .digest("hex");
}
