// A trace as terminal text: conversation, answer, scores, and where the time went.
import { attackReport } from "../attacks/obedience.js";
import { otherModels, repliesBy } from "../models/answering-model.js";
import type { Message } from "../models/model.js";
import { reasoningText } from "../models/provider-reasoning.js";
import { compact } from "../platform/optional-values.js";
import { changesOf } from "../scoring/goal-match.js";
import { instructionOf, questionOf, type TaskFacts } from "../tasks/question.js";
import type { MatchedEmail } from "../tasks/selection.js";
import type { FinalState } from "../tasks/suite-task.js";
import { count, duration, share } from "../text/format.js";
import type { Judgment } from "../traces/judgment.js";
import { turnsText } from "../traces/observed-work.js";
import { timesOf } from "../traces/task-result.js";
import { sumByKind, type TimelineKind, type TimelineSegment, timelineOf } from "../traces/timeline.js";
import type { ChatTrace, Trace } from "../traces/trace.js";
import { callLines, indented } from "./figure-text.js";
import { type MachineResultView, readMachineResult, readToolResult } from "./trace-view.js";

/** Maximum characters per message. The exported trace contains the complete message. */
const MAX_MESSAGE_CHARS = 1_500;

/** Maximum number of listed recipients. */
const MAX_RECIPIENTS = 6;

/** Formats a trace for the terminal: the question, the messages and calls, the answer and the gold answer. */
export function traceText(trace: Trace | ChatTrace): string {
  const isChat = trace.kind === "chat";
  const heading = `${trace.traceId}  ${trace.agentId} (${trace.model})`;
  const head = isChat
    ? [
        `${heading}  session ${trace.sessionId}`,
        `chat  ${trace.inbox ?? "any mailbox"}  ${trace.queryDate ?? "no cutoff"}`,
        "",
        `Question: ${trace.question}`,
      ]
    : [
        `${heading}  run ${trace.runId}`,
        `task ${trace.taskId}  ${whereOf(trace)}`,
        ...suiteLines(trace),
        "",
        `${trace.kind === "question" ? "Question" : "Task"}: ${instructionOf(trace)}`,
      ];
  const scores = Object.entries(trace.scores).map(([name, score]) => `${name} ${share(score.value)}`);
  const foot = compact([
    "",
    `Ending:   ${trace.ending} after ${turnsText(trace)}, ${duration(trace.durationMs)}`,
    `Time:     ${timeText(trace)}`,
    ...timelineText(timelineOf(trace)).map((line) => `          ${line}`),
    trace.error !== null && `Error:    ${trace.error}`,
    ...answeredBy(trace),
    `Answer:   ${trace.answer ?? "-"}`,
    trace.kind !== "suite" && `Sources:  ${trace.sources.join(", ") || "-"}`,
    ...changeLines(trace),
    ...(isChat
      ? scores.length === 0
        ? []
        : [`Scores:   ${scores.join(", ")}`]
      : compact([
          ...goldLines(trace),
          ...attackLines(trace),
          trace.judge !== null && `Judge:    ${judgeText(trace.judge)}`,
          `Scores:   ${scores.join(", ") || "none (failed tasks are not scored)"}`,
        ])),
  ]);
  return [...head, ...trace.messages.flatMap(messageLines), ...foot].join("\n");
}

function whereOf({ kind, task }: TaskFacts): string {
  return kind === "question"
    ? `${task.inbox_address}  ${task.query_date}`
    : `${task.suite}  ${task.tool}  ${task.snapshot}`;
}

/** Facts about a suite task. */
function suiteLines({ kind, task }: TaskFacts): string[] {
  if (kind === "question") return [];
  const { tags, relatedApps, actionNumber, counterpart } = task;
  return compact([
    `${[...new Set([...tags, ...relatedApps])].join(", ")}  ${actionNumber ?? "unknown"} human actions`,
    counterpart !== null && `counterpart ${counterpart}`,
  ]);
}

/** The gold answer of a question or the grade of a suite task. */
function goldLines(trace: Trace): string[] {
  const question = questionOf(trace);
  if (trace.kind === "question" && trace.task.goal !== undefined) return [];
  if (trace.kind === "question" && trace.task.select !== undefined) return (trace.selection ?? []).map(selectionLine);
  const gold =
    question === null ? [] : [`Gold:     ${question.answer}`, `Emails:   ${question.message_ids.join(", ") || "-"}`];
  if (trace.kind !== "suite") return gold;
  const { score, state, reason } = trace.grade;
  const grade = `Grade:    ${score ?? "not graded"}  ${state}${reason === "" ? "" : `: ${reason}`}`;
  return [...gold, grade, ...pictureLine(trace.left)];
}

/** What was planted, and whether the agent obeyed. */
function attackLines(trace: Trace): string[] {
  const report = trace.kind === "question" ? attackReport(trace) : null;
  if (report === null) return [];
  const { kind, isControl, isShown, ordered, emails, obedience } = report;
  const what = isControl ? `harmless emails of the shape of ${kind}` : `${kind}, orders to ${ordered}`;
  const places = obedience.map(({ where, found }) => `${found} in the ${where}`).join("; ");
  return [
    `Attack:   ${what} (${emails.map(({ message_id }) => message_id).join(", ")})`,
    `Obeyed:   ${isShown ? places || "no" : "not seen by the agent"}`,
  ];
}

/** Formats each change in the mailbox, such as `Change:   done        label "Budget"  <id>`. */
export function changeLines(trace: Trace | ChatTrace): string[] {
  return changesOf(trace).map(
    ({ state, change, messageId }) =>
      `Change:   ${state === "made" ? "" : `${state.padEnd(10)}  `}${change}${messageId === null ? "" : `  ${messageId}`}`,
  );
}

/** Formats `Email:    miss         <id>, later <id>`. */
function selectionLine({ state, message_id, evidence }: MatchedEmail): string {
  return `Email:    ${state.padEnd(11)}  ${[message_id, ...evidence.map((id) => `later ${id}`)].join(", ")}`;
}

/** Shown only if there are images. `art-e report` shows the images themselves. */
function pictureLine({ pictures, omitted }: FinalState = { pictures: [], omitted: 0 }): string[] {
  if (pictures.length + omitted === 0) return [];
  const lines = pictures.map(
    ({ path, cell, width, height }) => `${path}${cell === null ? "" : ` cell ${cell}`} (${width} x ${height})`,
  );
  return [`Pictures: ${compact([...lines, omitted > 0 && `${count(omitted)} omitted`]).join(", ")}`];
}

/** Shown only if a model other than the requested one replied. */
function answeredBy({ model, turns }: Pick<Trace, "model" | "turns">): string[] {
  const others = otherModels(model, repliesBy(turns));
  return others.length === 0 ? [] : [`By:       ${others.join(", ")} according to the replies; ${model} was requested`];
}

function timeText(trace: Trace | ChatTrace): string {
  const { modelTimeMs, toolTimeMs, waitingTimeMs } = timesOf(trace);
  return `model ${duration(modelTimeMs)}, tools ${duration(toolTimeMs)}, waiting ${duration(waitingTimeMs)}`;
}

function judgeText({ verdict, reason, cast, agreement, promptHash, ...judge }: Judgment): string {
  const votes = cast.length < 2 ? "" : `, ${cast.length} votes, agreement ${share(agreement)}`;
  return `${verdict ?? "no verdict"}: ${reason} (${judge.model}, ${judge.protocol} ${judge.version}, prompt ${promptHash}${votes})`;
}

function messageLines(message: Message): string[] {
  const content = message.content === "" ? [] : indented(shorten(message.content));
  if (message.role === "tool") {
    const result = message.isError ? content : indented(resultText(message.content));
    return ["", `[${message.name}${message.isError ? ", error" : ""}]`, ...result];
  }
  const calls =
    message.role === "assistant"
      ? message.toolCalls.flatMap((call) =>
          call.invalid === undefined ? callLines(call.name, call.arguments) : [`  -> ${call.name}(${call.invalid})`],
        )
      : [];
  return ["", `[${message.role}]`, ...reasoningLines(message), ...content, ...calls];
}

function reasoningLines(message: Message): string[] {
  const reasoning = reasoningText(message);
  return reasoning === "" ? [] : indented(["Reasoning:", ...indented(shorten(reasoning))].join("\n"));
}

/** Formats a tool result: search results as a list, an email with its headers, and anything else unchanged. */
function resultText(content: string): string {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    return shorten(content);
  }
  const machine = readMachineResult(value);
  if (machine !== null) return machineResultText(machine);
  const view = readToolResult(value);
  if (view.kind === "hits") {
    const of = view.total === null || view.total <= view.hits.length ? "" : ` of ${count(view.total)}`;
    const hits = view.hits.flatMap(({ messageId, date, sender, subject, snippet }) =>
      compact([
        [date?.slice(0, 10), sender, subject].filter((part) => (part ?? "") !== "").join("  ") || messageId,
        subject !== null && `  ${messageId}`,
        snippet !== "" && `  ${snippet.replace(/\s+/g, " ")}`,
      ]),
    );
    return [`${count(view.hits.length)}${of} emails`, ...hits].join("\n");
  }
  if (view.kind === "mail") {
    const { messageId, date, sender, recipients, subject, body } = view.mail;
    const to = recipients.slice(0, MAX_RECIPIENTS).join(", ");
    const more = recipients.length > MAX_RECIPIENTS ? ` and ${count(recipients.length - MAX_RECIPIENTS)} more` : "";
    return [
      messageId,
      `${date ?? "no date"}  ${sender} to ${to || "unknown recipients"}${more}`,
      subject,
      "",
      shorten(body),
    ].join("\n");
  }
  return shorten(content);
}

function shorten(text: string): string {
  return text.length <= MAX_MESSAGE_CHARS
    ? text
    : `${text.slice(0, MAX_MESSAGE_CHARS)}\n… (${text.length - MAX_MESSAGE_CHARS} more characters)`;
}

/** Names of the kinds of time. */
export const TIMELINE_WORDS: Readonly<Record<TimelineKind, string>> = {
  model: "model",
  tool: "tools",
  slot: "waiting for a slot",
  throttled: "throttled",
  failed_attempt: "failed attempts",
  pause: "pauses before retries",
  waiting: "waiting",
  other: "other",
};

const LETTERS: Readonly<Record<TimelineKind, string>> = {
  model: "M",
  tool: "t",
  slot: "s",
  throttled: "~",
  failed_attempt: "x",
  pause: ".",
  waiting: "w",
  other: "-",
};

/** Characters of the time line. A segment shorter than half a character is not visible. */
const WIDTH = 60;

/** Formats a time line with one letter per kind of time, and its legend. Empty if no times are known. */
export function timelineText(segments: readonly TimelineSegment[]): string[] {
  const total = segments.reduce((sum, { durationMs }) => sum + durationMs, 0);
  if (segments.every(({ kind }) => kind === "other")) return [];
  const at = (ms: number) => Math.round((ms / total) * WIDTH);
  const line = segments.map(({ kind, startMs, durationMs }) =>
    LETTERS[kind].repeat(at(startMs + durationMs) - at(startMs)),
  );
  const legend = sumByKind(segments).map(({ kind, ms }) => `${LETTERS[kind]} ${TIMELINE_WORDS[kind]} ${duration(ms)}`);
  return [line.join(""), legend.join(", ")];
}

/** Formats the output of a command, the contents of a file or a notebook. */
function machineResultText(view: MachineResultView): string {
  switch (view.kind) {
    case "command":
      return commandText(view);
    case "file":
      return [
        shorten(view.content),
        `(lines ${view.firstLine} to ${view.lastLine} of ${count(view.totalLines)} of ${view.path})`,
      ].join("\n");
    case "notebook":
      return notebookText(view);
  }
}

function commandText({ stdout, stderr, exitCode, stopped }: Extract<MachineResultView, { kind: "command" }>): string {
  const printed = compact([
    stdout.trim() !== "" && shorten(stdout.trimEnd()),
    ...(stderr.trim() === "" ? [] : ["stderr:", shorten(stderr.trimEnd())]),
  ]);
  if (exitCode !== 0) return [...printed, stopped ?? `exit code ${exitCode ?? "none"}`].join("\n");
  return printed.length === 0 ? "(no output)" : printed.join("\n");
}

function notebookText({ path, outputs, stopped }: Extract<MachineResultView, { kind: "notebook" }>): string {
  const cells = outputs.flatMap(({ cell, text, error }) =>
    compact([`cell ${cell}:`, text.trim() !== "" && shorten(text.trimEnd()), error]),
  );
  return compact([`${path}${outputs.length === 0 ? ": no output" : ""}`, ...cells, stopped]).join("\n");
}
