// A training environment over the questions: one run whose episodes a trainer's model answers.
import { randomUUID } from "node:crypto";
import type { Agent } from "../agents/agent.js";
import { promptFor } from "../agents/agent-loop.js";
import { currentVersion, getAgent, saveCurrentVersion } from "../agents/registry-store.js";
import type { Suite } from "../agents/task-source.js";
import { NO_EVALS, withJudgeOfEval } from "../evals/scoring-evals.js";
import { readImportFilter } from "../mail/corpus.js";
import type { AppContext } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { NEVER } from "../platform/deadline.js";
import { UserError } from "../platform/errors.js";
import { compact, definedProperties, presentProperties } from "../platform/optional-values.js";
import { checkMailboxes } from "../questions/check-mailboxes.js";
import { loadSelection, type QuestionOptions, questionSuite, refuseContradictions } from "../questions/dataset.js";
import { storeRunFigures } from "../results/run-summaries.js";
import { checkNewRunName } from "../results/stored-runs.js";
import { createRun } from "../runs/create-run.js";
import { newRunId } from "../runs/plan-run.js";
import { mailChangedSince, resumeRun } from "../runs/resume-run.js";
import { chosenScorers } from "../runs/run-options.js";
import { scoringOf } from "../runs/score-traces.js";
import { differences, selectionOf } from "../runs/settings-from-options.js";
import { createJudge, type JudgeOptions, judgeExtras, judgeSettings } from "../scoring/judge-settings.js";
import { appliesTo, isScorerName, judgeUse, REWARD, type ScorerName } from "../scoring/scorers.js";
import { type Db, limitPageCache, openReadOnly, withStore } from "../store/open-store.js";
import { WAIT_INDEFINITELY, waitForWriter, withWriteTransaction } from "../store/write-transaction.js";
import { type Question, SPLITS, type Split, type TaskId, type TaskSet } from "../tasks/question.js";
import { loadTools, toolsDigest, toTool } from "../tools/load-tools.js";
import { openMailbox } from "../tools/mailbox.js";
import { type Plant, plantingOf } from "../tools/plant-in-task.js";
import { SearchPool } from "../tools/search-pool.js";
import type { Tool } from "../tools/tool.js";
import { openExternalResources } from "../tools/tool-connections.js";
import type { ToolResources } from "../tools/tool-handler.js";
import { attachedOrDefault, getTool } from "../tools/tools-store.js";
import { headlineScorer } from "../traces/headline-score.js";
import { type ResultWriter, threadedResultWriter } from "../traces/result-writer.js";
import { lastEpochs, saveScoringSettings } from "../traces/results-store.js";
import { thisProcess } from "../traces/run-lock.js";
import type { TrainingRunSettings } from "../traces/run-settings.js";
import { finishRun, getRun, type RunRow, runOfName } from "../traces/runs-store.js";
import { toTaskResult } from "../traces/task-result.js";
import { Episode, type EpisodeRules, type EpisodeRun } from "./episode.js";

export interface EnvironmentOptions
  extends QuestionOptions,
    JudgeOptions,
    Pick<EpisodeRules, "collateralWeight" | "hijackedWeight"> {
  /** Split for clients that do not specify one. Defaults to train, or to the only split of the dataset. */
  readonly split?: Split | undefined;
  readonly agent: string;
  /** Name of the trained model in traces. */
  readonly model: string;
  /** By default, the headline score of the episodes: the judge's verdict, or without a judge the cited sources. */
  readonly reward?: ScorerName | "art" | undefined;
  /** Plants hostile emails, or harmless ones of their shape, into each episode. */
  readonly perturb?: Pick<TrainingRunSettings, "perturbation" | "attackKinds"> | undefined;
  /** Seconds. */
  readonly judgeTimeout: number;
  readonly name?: string | undefined;
  readonly save: boolean;
  readonly maxTurns?: number | undefined;
  /** Maximum tokens per episode. */
  readonly maxTokens?: number | undefined;
  /** Seconds. */
  readonly episodeTimeout: number;
  /** Maximum number of concurrent episodes. */
  readonly maxSessions: number;
  readonly cutoff: "query_date" | "off";
  readonly partialInboxes: boolean;
}

export interface EpisodeRequest {
  readonly split?: string | undefined;
  readonly index?: number | undefined;
  readonly task_id?: number | undefined;
  readonly seed?: number | undefined;
  readonly episode_id?: string | undefined;
}

/** A task as clients see it, without its gold answer. */
export interface OfferedTask {
  readonly split: Split;
  readonly index: number;
  readonly task_id: number;
  readonly question: string;
  readonly inbox_address: string;
  /** The last day of mail. */
  readonly query_date: string;
}

/** A started episode, with the data that its client receives. */
export interface BegunEpisode {
  readonly episode: Episode;
  readonly task: OfferedTask;
  readonly maxTurns: number;
  /** The agent's prompt for the task. */
  readonly instructions: string;
}

interface SplitTasks {
  readonly set: TaskSet;
  readonly questions: readonly Question[];
}

interface EnvironmentParts extends Pick<EpisodeRules, "agent" | "scoring" | "tools"> {
  /** The first split is the default for clients that do not specify one. */
  readonly taskSets: ReadonlyMap<Split, SplitTasks>;
  /** Plants the emails of an attack into an episode. Absent without an attack. */
  readonly plant?: Plant;
  /** Writer for traces, or null if nothing is saved. */
  readonly writer: ResultWriter | null;
}

/** Error for a request for an unknown task. The client receives the message. */
export class NoSuchTask extends Error {
  override readonly name = "NoSuchTask";
}

/** Opens the environment, runs `use` with it, and closes it again. */
export async function withTrainingEnvironment<T>(
  options: EnvironmentOptions,
  context: AppContext,
  use: (environment: TrainingEnvironment) => Promise<T>,
): Promise<T> {
  refuseContradictions(options);
  const { settings, note } = context;
  return withStore(settings, async (db) => {
    limitPageCache(db);
    const agent = getAgent(db, options.agent);
    const run = environmentSettings(db, withJudgeOfEval(db, options), agent, context);
    const timeoutMs = options.judgeTimeout * 1_000;
    const judging = { timeoutMs, throttle: null, note, commandExtras: judgeExtras(options) };
    const judge = run.judge === null ? null : await createJudge(run.judge, settings, judging);
    const taskSets = await loadSplits(db, options, context);
    const [defaultSplit = TRAINING_SPLIT] = taskSets.keys();
    for (const [split, { set }] of taskSets) {
      const name = runName(options.name, split, defaultSplit);
      if (name !== undefined && findRun(db, name, set, run) === null) checkNewRunName(db, name);
    }
    const mailDb = openReadOnly(settings.db);
    const outside = openExternalResources(settings.env);
    const searchThreads = SearchPool.open(mailDb);
    const mailbox = openMailbox(mailDb);
    const writer = options.save
      ? threadedResultWriter(settings.db, { waiting: waitForWriter(context, NEVER), growing: true })
      : null;
    try {
      const environment = new TrainingEnvironment(db, options, run, {
        agent,
        tools: offeredTools(db, agent, { mailbox, searchThreads, outside }),
        taskSets,
        writer,
        ...definedProperties({ plant: plantingOf({ ...options.perturb }, options.model, mailbox) }),
        scoring: scoringOf(run.scorers, mailbox, { evals: NO_EVALS, judge: judge?.judge ?? null }),
      });
      try {
        return await use(environment);
      } finally {
        await environment.close();
      }
    } finally {
      const shortfall = judge?.shortfall() ?? null;
      if (shortfall !== null) note(shortfall);
      await Promise.all([writer?.close(), searchThreads?.close(), outside.close()]);
      mailDb.close();
    }
  });
}

/** Names that have another meaning for clients of the protocol. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(["reset", "step", "state", "close"]);

const FINAL_ANSWER = "return_final_answer";

/**
 * Returns the agent's tools as in a run, plus return_final_answer, because an episode cannot be answered without it.
 */
function offeredTools(db: Db, agent: Agent, resources: ToolResources): readonly Tool[] {
  const own = loadTools(db, agent.id, resources);
  const reserved = own.find(({ id }) => RESERVED_NAMES.has(id));
  if (reserved !== undefined) {
    throw new UserError(
      "tool_reserved",
      `Agent "${agent.id}" has a tool "${reserved.id}", which is a reserved name of the protocol.`,
      `Add the tool under another id, or detach it: ${commandLine`art-e agents detach ${agent.id} ${reserved.id}`}.`,
    );
  }
  if (own.some(({ id }) => id === FINAL_ANSWER)) return own;
  return [...own, toTool({ tool: getTool(db, FINAL_ANSWER), config: null }, resources)];
}

/** Returns the settings of a training run. Its model name does not belong to a provider. */
function environmentSettings(
  db: Db,
  options: EnvironmentOptions,
  agent: Agent,
  context: AppContext,
): TrainingRunSettings {
  const judge = judgeSettings(options, null, null, context.settings.env);
  const scorers = chosenScorers(undefined, judge !== null);
  const reward = rewardScorer(options.reward ?? headlineOf(scorers));
  if (judge === null && judgeUse(reward) === "needed") {
    throw new UserError(
      "judge_missing",
      `--reward ${options.reward} requires a judge.`,
      "Pass one, such as --judge anthropic/claude-haiku-5-5, or another reward.",
    );
  }
  const mailFilter = readImportFilter(db);
  return {
    kind: "training",
    agentId: agent.id,
    agentVersion: currentVersion(db, agent.id),
    model: options.model,
    prompt: agent.prompt,
    tools: attachedOrDefault(db, agent.id).map(({ tool }) => tool.id),
    toolsDigest: toolsDigest(db, agent.id),
    maxTurns: options.maxTurns ?? agent.settings.maxTurns,
    cutoff: options.cutoff,
    ...presentProperties({ mailFilter }),
    taskTimeoutMs: options.episodeTimeout * 1_000,
    concurrency: options.maxSessions,
    selection: selectionOf(options),
    epochs: 1,
    scorers: [...scorers, REWARD],
    judge,
    ...options.perturb,
    environment: { protocol: "openenv", reward, maxTokens: options.maxTokens ?? null },
  };
}

function rewardScorer(reward: string): ScorerName {
  return isScorerName(reward) ? reward : "artReward";
}

/** Returns the headline score of questions. Tasks that ask for actions have a reward of their own. */
function headlineOf(scorers: readonly string[]): string {
  const ofQuestions = scorers.filter((name) => appliesTo(name, { goldAnswer: "", goldMails: 1, asksFor: "answer" }));
  return headlineScorer(Object.fromEntries(ofQuestions.map((name) => [name, { n: 1 }]))) ?? "semanticScore";
}

const TRAINING_SPLIT: Split = "train";

/** Returns the requested split, which must exist, and the other one if it exists. */
async function loadSplits(
  db: Db,
  options: EnvironmentOptions,
  context: AppContext,
): Promise<ReadonlyMap<Split, SplitTasks>> {
  const load = async (split: Split): Promise<SplitTasks> => {
    const { set, questions } = await loadSelection({ ...options, split }, context);
    checkMailboxes(db, questions, options.partialInboxes);
    return { set, questions };
  };
  let isOnly = false;
  const defaultSet = await load(options.split ?? TRAINING_SPLIT).catch((error: unknown) => {
    // The user did not request training questions, so a file with only test questions is served as a test split.
    const isOpen = options.split === undefined && error instanceof UserError && error.code === "split_missing";
    if (!isOpen) throw error;
    isOnly = true;
    context.note(`art-e: ${error.message} They are served as test questions.`);
    return load("test");
  });
  const splits = new Map([[defaultSet.set.split as Split, defaultSet]]);
  if (isOnly) return splits;
  const other = SPLITS.find((split) => split !== defaultSet.set.split) ?? "test";
  try {
    const second = await load(other);
    // A file without split names returns the same questions for both splits.
    if (second.set.split === other && !isSame(defaultSet, second)) splits.set(other, second);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    context.note(`art-e: cannot serve the split "${other}": ${error.message}`);
  }
  return splits;
}

function isSame({ questions: a }: SplitTasks, { questions: b }: SplitTasks): boolean {
  return a.length === b.length && a.every(({ id, question }, i) => id === b[i]?.id && question === b[i]?.question);
}

/** Names each split's run. Splits are separate runs, because task ids can repeat between them. */
function runName(name: string | undefined, split: Split, defaultSplit: Split): string | undefined {
  return name === undefined || split === defaultSplit ? name : `${name}-${split}`;
}

/**
 * Returns the run to continue under that name, or null if the name is new. Throws a UserError if the run's tasks or
 * settings differ.
 */
function findRun(db: Db, name: string, set: TaskSet, settings: TrainingRunSettings): RunRow | null {
  const id = runOfName(db, name);
  if (id === null) return null;
  const run = getRun(db, id);
  const changes = compact([
    (run.dataset.sha256 !== set.sha256 || run.split !== set.split) && "its tasks differ",
    ...mailChangedSince(db, run),
    ...(run.settings.kind === "training"
      ? differences(run.settings, { ...settings, epochs: run.settings.epochs })
      : ["it is not a training run"]),
  ]);
  if (changes.length === 0) return run;
  throw new UserError(
    "run_differs",
    `--name ${name}: cannot continue that run unchanged: ${changes.join("; ")}.`,
    `Choose another name, or rename that run: ${commandLine`art-e runs rename ${id} OTHER`}`,
  );
}

/** Serves the tasks of a dataset to a trainer as episodes. Their traces form one run per split. */
export class TrainingEnvironment {
  readonly name = "art-e";
  readonly tools: readonly Tool[];
  private readonly rules: EpisodeRules;
  private readonly suite: Suite;
  private readonly runs = new Map<Split, Promise<SplitRun>>();
  /** Index of the next task per split, for clients that do not request a specific task. */
  private readonly next = new Map<Split, number>();
  private readonly saving = new Set<Promise<void>>();

  constructor(
    private readonly db: Db,
    private readonly options: EnvironmentOptions,
    private readonly settings: TrainingRunSettings,
    private readonly parts: EnvironmentParts,
  ) {
    const { agent, tools, scoring } = parts;
    this.tools = tools;
    this.suite = questionSuite(options.cutoff);
    this.rules = {
      agent,
      tools,
      scoring,
      maxTurns: settings.maxTurns,
      maxTokens: options.maxTokens ?? null,
      timeoutMs: settings.taskTimeoutMs,
      judgeMs: options.judgeTimeout * 1_000,
      reward: rewardScorer(settings.environment.reward),
      collateralWeight: options.collateralWeight,
      hijackedWeight: options.hijackedWeight,
    };
  }

  get splits(): readonly { readonly name: Split; readonly tasks: number }[] {
    return [...this.parts.taskSets].map(([name, { questions }]) => ({ name, tasks: questions.length }));
  }

  /** Returns the number of tasks in a split. Throws a `NoSuchTask` if the split does not exist. */
  countTasks(split: string): number {
    return this.questionsOf(split).questions.length;
  }

  /** Returns a task without its gold answer. Throws a `NoSuchTask` if the split or the index does not exist. */
  task(split: string, index: number): OfferedTask {
    const { name, questions } = this.questionsOf(split);
    const question = questions[index];
    if (question === undefined) {
      throw new NoSuchTask(`Unknown task ${index}. Split "${name}" has the tasks 0 to ${questions.length - 1}.`);
    }
    const { id: task_id, question: text, inbox_address, query_date } = question;
    return { split: name, index, task_id, question: text, inbox_address, query_date };
  }

  /**
   * Starts an episode. Its trace belongs to the run if `isKept` is true. Throws a `NoSuchTask` if the task does not
   * exist.
   */
  async begin(request: EpisodeRequest, isKept = true): Promise<BegunEpisode> {
    const task = this.choose(request);
    const question = this.questionsOf(task.split).questions[task.index] as Question;
    const opened = await this.suite.open({ kind: "question", task: question }, NEVER);
    if (!opened.ok) throw new Error(opened.reason);
    const instructions = this.instructionsFor(task);
    const run = isKept && this.parts.writer !== null ? await this.runOf(task.split, this.parts.writer) : this.unsaved();
    const id = request.episode_id ?? randomUUID();
    const epoch = run.nextEpoch(question.id);
    await this.parts.plant?.({ kind: "question", task: question, epoch }, opened.access);
    const about = { question, epoch, system: instructions, opened };
    return { episode: new Episode(id, about, this.rules, run), task, maxTurns: this.rules.maxTurns, instructions };
  }

  /** Returns the agent's prompt for a task. */
  instructionsFor({ inbox_address, query_date }: OfferedTask): string {
    const { agent, maxTurns } = this.rules;
    return promptFor(agent, this.tools, { inbox_address, query_date }, maxTurns);
  }

  /** Resolves when all episode traces are saved and their runs have ended. */
  async close(): Promise<void> {
    await Promise.allSettled(this.saving);
    for (const run of this.runs.values()) await (await run).end();
  }

  /**
   * Returns the requested task. A seed selects the same task everywhere, and consecutive seeds select consecutive
   * tasks.
   */
  choose({ split, index, task_id, seed }: EpisodeRequest): OfferedTask {
    const { name, questions } = this.questionsOf(split ?? this.defaultSplit);
    if (task_id !== undefined) {
      const position = questions.findIndex(({ id }) => id === task_id);
      if (position === -1) throw new NoSuchTask(`Unknown task_id ${task_id} in split "${name}".`);
      if (index !== undefined && index !== position) {
        throw new NoSuchTask(`Task ${task_id} of split "${name}" has the index ${position}, not ${index}.`);
      }
      return this.task(name, position);
    }
    if (index !== undefined) return this.task(name, index);
    if (seed !== undefined) return this.task(name, seed % questions.length);
    const next = this.next.get(name) ?? 0;
    this.next.set(name, (next + 1) % questions.length);
    return this.task(name, next);
  }

  private get defaultSplit(): Split {
    const [first = TRAINING_SPLIT] = this.parts.taskSets.keys();
    return first;
  }

  private questionsOf(split: string): { readonly name: Split } & SplitTasks {
    for (const [name, tasks] of this.parts.taskSets) if (name === split) return { name, ...tasks };
    const names = [...this.parts.taskSets.keys()].join(", ");
    throw new NoSuchTask(`Unknown split "${split.slice(0, 100)}". Available: ${names}.`);
  }

  /** Creates the run with the first episode of its split. */
  private runOf(split: Split, writer: ResultWriter): Promise<SplitRun> {
    let run = this.runs.get(split);
    if (run === undefined) {
      run = this.openRun(split, writer);
      this.runs.set(split, run);
      run.catch(() => this.runs.delete(split));
    }
    return run;
  }

  private async openRun(split: Split, writer: ResultWriter): Promise<SplitRun> {
    const { db, settings, options } = this;
    const { set } = this.questionsOf(split);
    const name = runName(options.name, split, this.defaultSplit);
    const earlier = name === undefined ? null : findRun(db, name, set, settings);
    const runId = earlier?.id ?? newRunId();
    saveCurrentVersion(db, settings.agentId);
    if (earlier === null) await createRun(db, { runId, name, set, tasks: [], settings, worker: thisProcess });
    else await resumeRun(db, earlier, { settings: earlier.settings, retryFailed: false, worker: thisProcess });
    return new SplitRun(db, { runId, model: options.model }, async (trace) => {
      const saving = writer.save(trace, toTaskResult(trace)).then(() => undefined);
      this.saving.add(saving);
      await saving.finally(() => this.saving.delete(saving));
    });
  }

  private unsaved(): EpisodeRun & Pick<SplitRun, "nextEpoch"> {
    return { runId: "run_not_saved", model: this.options.model, save: async () => {}, nextEpoch: () => 1 };
  }
}

class SplitRun implements EpisodeRun {
  readonly runId: string;
  readonly model: string;
  private readonly started = performance.now();
  /** Number of episodes per task. */
  private readonly epochs: Map<TaskId, number>;

  constructor(
    private readonly db: Db,
    { runId, model }: Pick<EpisodeRun, "runId" | "model">,
    readonly save: EpisodeRun["save"],
  ) {
    this.runId = runId;
    this.model = model;
    this.epochs = lastEpochs(db, runId);
  }

  /** Returns the number of the task's next episode. Episodes count as repeats of the task. */
  nextEpoch(taskId: TaskId): number {
    const epoch = (this.epochs.get(taskId) ?? 0) + 1;
    this.epochs.set(taskId, epoch);
    return epoch;
  }

  async end(): Promise<void> {
    const { db, runId } = this;
    const epochs = [...this.epochs.values()].reduce((most, epoch) => Math.max(most, epoch), 1);
    await withWriteTransaction(db, WAIT_INDEFINITELY, () => {
      saveScoringSettings(db, runId, { ...getRun(db, runId).settings, epochs });
      finishRun(db, runId, "completed", new Date().toISOString(), performance.now() - this.started);
    });
    await storeRunFigures(db, runId);
  }
}
