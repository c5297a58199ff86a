import { randomBytes } from "node:crypto";
import { type Agent, agentSettingsSchema } from "../domain/agent.js";
import type { Elsewhere } from "../domain/elsewhere.js";
import { UserError } from "../domain/errors.js";
import type { PlannedTask, Question } from "../domain/question.js";
import type { RunSettings } from "../domain/result.js";
import { currentVersion, keepCurrent } from "../registry/versions.js";
import { beginRun, findLeft, type NewRunRequest, resumeRun, type Session } from "../runner/begin.js";
import { checkMailboxes } from "../runner/check-mailboxes.js";
import type { Worker } from "../runner/worker.js";
import { getVersion } from "../store/agent-versions.js";
import { getAgent } from "../store/agents.js";
import { readFingerprint } from "../store/corpus-stats.js";
import type { Db } from "../store/open.js";
import { getRun, type RunRow } from "../store/runs.js";
import type { AttachedTool } from "../store/tools.js";
import { attachedOrDefault, toolsDigest } from "../tools/registry.js";
import type { Door } from "./command.js";
import { asksJudge, cheapModel, judgeSettings } from "./judge-flags.js";
import { loadDataset, select } from "./question-flags.js";
import { elsewhereAsked, elsewhereOf, elsewhereSettings, modelElsewhere, refuseUnheard } from "./run-elsewhere.js";
import { RESUME_KEEPS, type RunFlags } from "./run-flags.js";
import { modelNameOf, type ReadyModel, readyModel } from "./run-model.js";
import { chosenScorers, wantsJudge } from "./scorer-flags.js";
import { baseUrlOf } from "./settings.js";

/** A run that could begin: nothing has been written or spent. */
export interface RunPlan {
  readonly runId: string;
  readonly agent: Agent;
  readonly settings: RunSettings;
  readonly model: ReadyModel;
  /** How many. */
  readonly tasks: number;
  readonly tools: readonly AttachedTool[];
  /** Which questions, over which mail. */
  readonly over: Pick<RunRow, "dataset" | "split" | "corpusFingerprint">;
  /** Once. */
  begin(worker: Worker): Promise<Session>;
}

/** The agent of a new run. Asked for before anything is opened. */
export function agentOfNewRun(flags: RunFlags): string {
  if (flags.agent === undefined && flags.agentCommand === undefined) {
    throw new UserError(
      "flag_missing",
      "--agent is missing.",
      "Name one: art-e run -a baseline (art-e agents list shows all).",
    );
  }
  if (flags.retryFailed || flags.force) {
    throw new UserError(
      "flags_contradict",
      `${flags.force ? "--force" : "--retry-failed"} is for --resume, which is not given.`,
      "Add --resume RUN, or leave it out.",
    );
  }
  return flags.agent ?? "agent-command";
}

export async function planNewRun(
  db: Db,
  flags: RunFlags,
  argv: Readonly<Record<string, unknown>>,
  door: Door,
): Promise<RunPlan> {
  const agentId = agentOfNewRun(flags);
  const where = elsewhereOf(flags, door.settings.env);
  if (where !== undefined) refuseUnheard(where, argv);
  if (where?.kind === "api" && flags.apiUrl === undefined) {
    door.out.note(`The agent is one of ${where.url}, as API_URL says.`);
  }
  const settings =
    where === undefined
      ? newSettings(db, flags, getAgent(db, agentId), door)
      : elsewhereSettings(where, agentId, flags, door.settings.env);
  // The key is asked for before anything is downloaded.
  const model = await readyModel(settings, flags, door.settings, false);
  const set = await loadDataset(flags, door);
  const questions = select(set, flags, flags.limit);
  if (usesMailHere(settings)) checkMailboxes(db, questions, flags.partialInboxes);
  const tasks = repeated(questions, flags.epochs);
  const { source, revision, sha256, split } = set;
  const runId = newRunId();
  const lay = layOnce(db, { runId, set: { source, revision, sha256, split }, tasks, settings });
  return {
    runId,
    agent: agentOf(settings),
    settings,
    model,
    tasks: tasks.length,
    tools: toolsNow(db, settings),
    over: { dataset: { source, revision, sha256 }, split, corpusFingerprint: readFingerprint(db) ?? "" },
    begin(worker) {
      if (settings.elsewhere === undefined) keepCurrent(db, settings.agentId);
      return lay(worker);
    },
  };
}

/**
 * A stored run taken up again. All its settings are those it was begun with; what is asked for otherwise, or has changed
 * since, would make its answers incomparable and is refused, unless --force records it.
 */
export async function planResume(
  db: Db,
  flags: RunFlags,
  argv: Readonly<Record<string, unknown>>,
  door: Door,
): Promise<RunPlan> {
  const run = getRun(db, flags.resume ?? "latest");
  const other = Object.keys(RESUME_KEEPS).find((flag) => argv[flag] !== undefined && argv[flag] !== false);
  if (other !== undefined) {
    throw new UserError(
      "flags_contradict",
      `--resume answers what is missing of run ${run.id}: ${RESUME_KEEPS[other]} cannot choose anything else.`,
      "Leave it out, or begin a new run.",
    );
  }
  const asked = askedFor(run.settings, flags, argv, door);
  const changes = [...differences(run.settings, asked), ...changedSince(db, run)];
  if (changes.length > 0 && !flags.force) {
    throw new UserError(
      "run_differs",
      `Run ${run.id} cannot go on as it was begun: ${changes.join("; ")}.`,
      "Go on with what it was begun with, or add --force to go on all the same and have the difference recorded.",
    );
  }
  const settings =
    changes.length === 0 ? run.settings : { ...asked, changes: [...(run.settings.changes ?? []), ...changes] };
  const concurrency = argv.concurrency === undefined ? run.settings.concurrency : flags.concurrency;
  return {
    runId: run.id,
    agent: agentOf(settings),
    settings,
    model: await readyModel(settings, { ...flags, concurrency }, door.settings, true),
    tasks: (await findLeft(db, run.id, flags.retryFailed)).length,
    tools: settings.repeats === undefined ? toolsNow(db, settings) : toolsOfRun(db, run),
    over: run,
    begin: (worker) => resumeRun(db, run, { settings, retryFailed: flags.retryFailed, worker }),
  };
}

/** Lays a run down when it is called, and lets go of the tasks then: what is in the file need not be in memory too. */
export function layOnce(db: Db, run: Omit<NewRunRequest, "worker">): (worker: Worker) => Promise<Session> {
  let { tasks } = run;
  const { runId, set, settings } = run;
  return (worker) => {
    const laid = tasks;
    tasks = [];
    return beginRun(db, { runId, set, tasks: laid, settings, worker });
  };
}

function repeated(questions: readonly Question[], epochs: number): PlannedTask[] {
  return Array.from({ length: epochs }, (_, i) => questions.map((question) => ({ question, epoch: i + 1 }))).flat();
}

/** Sorts by the time it was begun; the last part tells apart what began in one second. */
export function newRunId(): string {
  const time = new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
  return `run_${time}_${randomBytes(3).toString("hex")}`;
}

export function newSettings(db: Db, flags: RunFlags, agent: Agent, { settings }: Door): RunSettings {
  const name = modelNameOf(flags, agent);
  const baseUrl = baseUrlOf(name.provider, flags.baseUrl, settings.env);
  // One that nobody asked for is not paid for where no scorer would listen to it.
  const isIdle = !asksJudge(flags) && !wantsJudge(flags.scorers);
  const cheap = isIdle ? null : cheapModel(name.provider, baseUrl, settings.env);
  const judge = judgeSettings(flags, null, cheap, settings.env);
  const { limit, minRealism, maxSources, ids, inbox, excludeKnownBad, shuffle, seed } = flags;
  return {
    agentId: agent.id,
    agentVersion: currentVersion(db, agent.id),
    model: name.id,
    baseUrl,
    wireApi: flags.wireApi ?? null,
    prompt: agent.prompt,
    tools: attachedOrDefault(db, agent.id).map(({ tool }) => tool.id),
    toolsDigest: toolsDigest(db, agent.id),
    maxTurns: flags.maxTurns ?? agent.settings.maxTurns,
    maxTokens: flags.maxTokens ?? agent.settings.maxTokens,
    temperature: flags.temperature ?? agent.settings.temperature ?? null,
    toolCalls: agent.settings.toolCalls,
    toolChoice: agent.settings.toolChoice,
    cutoff: flags.cutoff,
    taskTimeoutMs: flags.taskTimeout * 1_000,
    maxTaskCostUsd: flags.maxTaskCost ?? null,
    price: flags.price ?? null,
    concurrency: flags.concurrency,
    epochs: flags.epochs,
    ...(flags.unsafeHostPython ? { unsafeHostPython: true } : {}),
    scorers: chosenScorers(flags.scorers, judge !== null),
    judge,
    selection: { limit, minRealism, maxSources, ids, inbox, excludeKnownBad, shuffle, seed },
  };
}

/** Whether the agent reads the mail of this file: it lives here, or is a program that is given our tools. */
export function usesMailHere({ elsewhere }: RunSettings): boolean {
  return elsewhere === undefined || elsewhere.kind === "command";
}

function toolsNow(db: Db, settings: RunSettings): readonly AttachedTool[] {
  return settings.elsewhere === undefined ? attachedOrDefault(db, settings.agentId) : [];
}

/** The tools that a run was begun with. */
export function toolsOfRun(db: Db, { settings }: RunRow): readonly AttachedTool[] {
  if (settings.elsewhere !== undefined) return [];
  return getVersion(db, settings.agentId, settings.agentVersion).tools;
}

/** The agent as the run has it, whatever its row says by now. */
export function agentOf(settings: RunSettings): Agent {
  const { agentId, prompt, model, maxTurns, maxTokens, temperature, toolCalls, toolChoice } = settings;
  return {
    id: agentId,
    name: agentId,
    description: "",
    prompt,
    model,
    settings: agentSettingsSchema.parse({
      maxTurns,
      maxTokens,
      toolCalls,
      toolChoice,
      ...(temperature === null ? {} : { temperature }),
    }),
  };
}

/** A run's settings with what the command line asks for beyond them. */
export function askedFor(
  stored: RunSettings,
  flags: RunFlags,
  argv: Readonly<Record<string, unknown>>,
  door: Door,
): RunSettings {
  const where = elsewhereAsked(stored.elsewhere, flags);
  if (where !== undefined) refuseUnheard(where, argv);
  const agentId = flags.agent ?? stored.agentId;
  const { env } = door.settings;
  const cheap =
    where === undefined ? cheapModel(modelNameOf(flags, agentOf(stored)).provider, stored.baseUrl, env) : null;
  const judge = asksJudge(flags) ? judgeSettings(flags, stored.judge, cheap, env) : stored.judge;
  const isRegraded = flags.scorers !== undefined || (judge === null) !== (stored.judge === null);
  return {
    ...stored,
    agentId,
    ...(where === undefined ? {} : { elsewhere: where }),
    model: modelAskedFor(stored, where, agentId, flags),
    baseUrl: flags.baseUrl ?? stored.baseUrl,
    wireApi: flags.wireApi ?? stored.wireApi,
    maxTurns: flags.maxTurns ?? stored.maxTurns,
    maxTokens: flags.maxTokens ?? stored.maxTokens,
    temperature: flags.temperature ?? stored.temperature,
    cutoff: argv.cutoff === undefined ? stored.cutoff : flags.cutoff,
    taskTimeoutMs: argv.taskTimeout === undefined ? stored.taskTimeoutMs : flags.taskTimeout * 1_000,
    maxTaskCostUsd: flags.maxTaskCost ?? stored.maxTaskCostUsd,
    ...(flags.unsafeHostPython ? { unsafeHostPython: true } : {}),
    scorers: isRegraded ? chosenScorers(flags.scorers, judge !== null) : stored.scorers,
    judge,
  };
}

function modelAskedFor(stored: RunSettings, where: Elsewhere | undefined, agentId: string, flags: RunFlags): string {
  if (where === undefined) return modelNameOf(flags, agentOf(stored)).id;
  return flags.modelId === undefined ? stored.model : modelElsewhere(where, agentId, flags);
}

export function differences(stored: RunSettings, asked: RunSettings): string[] {
  return Object.entries(asked).flatMap(([name, now]) => {
    const before = stored[name as keyof RunSettings];
    const [a, b] = [JSON.stringify(before), JSON.stringify(now)];
    return a === b ? [] : [`${name} was ${a} and would be ${b}`];
  });
}

function changedSince(db: Db, { settings, corpusFingerprint }: RunRow): string[] {
  return [
    ...((readFingerprint(db) ?? "") === corpusFingerprint ? [] : ["mail has been imported since"]),
    // A repeat has the tools of the run that it repeats, whatever has been made of them since.
    ...(settings.repeats !== undefined ||
    settings.elsewhere !== undefined ||
    toolsDigest(db, settings.agentId) === settings.toolsDigest
      ? []
      : ["the agent's tools have changed since"]),
  ];
}
