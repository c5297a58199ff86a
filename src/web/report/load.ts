// Reads the data embedded in a report, and its conversations when they are opened.
import {
  type MailView,
  type Outcome,
  type QuestionRow,
  type ReportHead,
  type ReportTasks,
  type Stage,
  type TaskRow,
  type TraceView,
  traceKey,
} from "../../reports/report-data.js";
import type { TaskId } from "../../tasks/question.js";
import { difficultyOf, instructionStyleOf, realismBand } from "../../tasks/task-groups.js";
import { bandOf } from "../../traces/score-bands.js";
import { failedEvals } from "./header.js";

/** Loads the conversation of a task. */
export interface TraceSource {
  /** Throws `TraceMissing` if the conversation cannot be loaded. */
  load(task: Task): Promise<TraceView>;
  /** Loads an email that the conversation does not contain in full. A report's file contains no other emails. */
  loadMail?(messageId: string): Promise<MailView>;
}

/** Additional fields of a suite task. */
export interface SuiteTask {
  readonly tool: string;
  readonly snapshot: string;
  readonly tags: readonly string[];
  readonly apps: readonly string[];
  readonly actionNumber: number | null;
  readonly counterpart: string | null;
  readonly difficulty: string;
  readonly guidance: string;
  readonly state: string;
  readonly reason: string;
  /** Number of tool calls, or null if unknown, as in a results file. */
  readonly toolCalls: number | null;
}

/** A task in the form that the table and the dialog show. */
export interface Task {
  /** Index of its run in the report. */
  readonly run: number;
  readonly taskId: TaskId;
  readonly epoch: number;
  readonly question: string;
  readonly gold: string;
  readonly answer: string;
  readonly inbox: string;
  readonly date: string;
  readonly year: string;
  readonly realism: string;
  readonly sources: string;
  readonly ending: string;
  readonly turns: number | null;
  readonly ms: number;
  readonly costUsd: number | null;
  readonly stage: Stage;
  readonly outcome: Outcome;
  readonly scores: readonly (number | null)[];
  readonly failedEvals: readonly string[];
  readonly error: string | null;
  /** Facts about a suite task, or null for a question. */
  readonly suite: SuiteTask | null;
  /** Searchable text in lowercase. */
  readonly words: string;
}

declare global {
  interface Window {
    /** Called by each file of the folder, with its key and packed conversation. */
    artETrace?: (key: string, packed: string) => void;
    trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL(url: string): string },
      ): { createScriptURL(url: string): string };
    };
  }
}

/** Thrown if a conversation cannot be loaded. The message is for the reader. A deleted conversation is nowhere else. */
export class TraceMissing extends Error {
  constructor(
    message: string,
    readonly isDeleted = false,
  ) {
    super(message);
  }
}

/** Loads conversations from the report's page or from the folder next to it. */
export class EmbeddedTraces implements TraceSource {
  private readonly arrived = new Map<string, string>();
  /** Returns the URL of a script in the form that the content security policy requires. */
  private readonly trusted: (url: string) => string;

  constructor(private readonly traces: ReportHead["traces"]) {
    window.artETrace = (key, packed) => this.arrived.set(key, packed);
    // The content security policy of a page without a folder does not allow it.
    const policy =
      traces.kind === "folder" ? window.trustedTypes?.createPolicy("art-e", { createScriptURL: (url) => url }) : null;
    this.trusted = (url) => policy?.createScriptURL(url) ?? url;
  }

  async load({ run, taskId, epoch }: Task): Promise<TraceView> {
    const key = traceKey(run, taskId, epoch);
    const packed = document.getElementById(`trace-${key}`)?.textContent ?? (await this.fetched(key));
    return JSON.parse(await unpacked(packed)) as TraceView;
  }

  private async fetched(key: string): Promise<string> {
    const { traces } = this;
    if (traces.kind !== "folder") {
      throw new TraceMissing("This report was written without conversations.");
    }
    const known = this.arrived.get(key);
    if (known !== undefined) return known;
    await new Promise<void>((resolve, reject) => {
      const script = document.createElement("script");
      script.addEventListener("load", () => resolve());
      script.addEventListener("error", () =>
        reject(new TraceMissing(`The conversation is missing. Keep the folder ${traces.folder} next to this page.`)),
      );
      script.src = this.trusted(`${encodeURIComponent(traces.folder)}/${key}.js`);
      document.head.append(script);
    });
    const packed = this.arrived.get(key);
    if (packed === undefined)
      throw new TraceMissing(`The file of this conversation in ${traces.folder} belongs to another report.`);
    return packed;
  }
}

async function unpacked(packed: string): Promise<string> {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

/** Reads the data embedded in the page. */
export function loadReport(): { readonly head: ReportHead; readonly tasks: readonly Task[] } {
  const head = read("head") as ReportHead;
  const questions = read("questions") as QuestionRow[];
  const rows = head.runs.map((_, run) => (read(`rows-${run}`) as TaskRow[] | null) ?? []);
  return { head, tasks: readTasks(head, { questions, rows }) };
}

/** Returns the tasks of all runs. */
export function readTasks(head: ReportHead, { questions, rows }: ReportTasks): Task[] {
  return rows.flatMap((ofRun, run) => ofRun.flatMap((row) => toTask(run, row, questions[row[0]], head)));
}

function toTask(run: number, row: TaskRow, question: QuestionRow | undefined, head: ReportHead): Task[] {
  if (question === undefined) return [];
  const [taskId, text, gold, inbox, date, realism, sources] = question;
  const suite = toSuiteTask(row, question);
  const [, epoch, answer, ending, turns, ms, costUsd, stage, scores, error] = row;
  const outcome = stage === "failed" && suite === null ? "failed" : bandOf(scoreOf({ scores }, head.leading, head));
  const ofSuite = suite === null ? [] : [suite.tool, ...suite.tags, ...suite.apps, suite.state, suite.reason];
  const words = [taskId, text, answer, gold, inbox, error ?? "", ...ofSuite].join("\n").toLowerCase();
  return [
    {
      run,
      taskId,
      epoch,
      question: text,
      gold,
      answer,
      inbox,
      date,
      words,
      year: date.slice(0, 4),
      realism: realismBand(realism),
      sources: String(sources),
      ending,
      turns,
      ms,
      costUsd,
      stage,
      outcome,
      scores,
      failedEvals: failedEvals(scores, head),
      error,
      suite,
    },
  ];
}

export function scoreOf(task: Pick<Task, "scores">, name: string, { scores }: ReportHead): number | null {
  return task.scores[scores.findIndex((score) => score.name === name)] ?? null;
}

function toSuiteTask(row: TaskRow, question: QuestionRow): SuiteTask | null {
  const [facts, ended] = [question[7], row[10]];
  if (facts === null || ended === null) return null;
  const [tool, snapshot, tags, apps, actionNumber, counterpart] = facts;
  const [state, reason, toolCalls] = ended;
  const derived = { difficulty: difficultyOf(actionNumber), guidance: instructionStyleOf(tags) ?? "not given" };
  return { tool, snapshot, tags, apps, actionNumber, counterpart, ...derived, state, reason, toolCalls };
}

function read(id: string): unknown {
  const text = document.getElementById(id)?.textContent;
  return text === undefined || text === null ? null : JSON.parse(text);
}
