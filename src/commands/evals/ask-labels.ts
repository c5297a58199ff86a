import { createInterface } from "node:readline";
import type { Labelling, TraceToLabel } from "../../app/evals/open-labelling.js";
import { UserError } from "../../domain/errors.js";
import type { EvaluatedTrace } from "../../domain/evals/evaluated-trace.js";
import type { EvalLabel } from "../../domain/evals/label.js";
import { askedOf, isChatTrace } from "../../domain/runs/chat.js";
import { isSuiteTrace } from "../../domain/runs/trace.js";
import { stripControls } from "../../platform/strip-controls.js";
import { traceText } from "../../reports/text/trace-text.js";
import type { CommandContext } from "../cli/command.js";

const KEYS: Readonly<Record<string, EvalLabel>> = {
  g: "good",
  good: "good",
  b: "bad",
  bad: "bad",
  s: "skip",
  skip: "skip",
};

const PROMPT = "g good, b bad, s skip, each with a reason if you like (b wrong year); t whole trace, q quit > ";

/**
 * Shows one trace after another on stderr and reads labels from stdin, a line each. Each is saved at once. Returns how
 * many were given.
 */
export async function askLabels(labelling: Labelling, { signal, out }: CommandContext): Promise<number> {
  if (labelling.waiting === 0) {
    throw new UserError(
      "labels_complete",
      "Every trace has a person's label.",
      "Label another run, or another --criterion.",
    );
  }
  const lines = createInterface({ input: process.stdin, terminal: false });
  const stop = () => lines.close();
  signal.addEventListener("abort", stop, { once: true });
  const replies = lines[Symbol.asyncIterator]();
  let labelled = 0;
  try {
    for (const item of labelling.traces()) {
      const reply = await ask(item, `${labelled + 1}/${labelling.waiting}`, replies, out.note);
      if (reply === null) break;
      labelling.save(item, reply.label, reply.note);
      labelled++;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    lines.close();
  }
  return labelled;
}

interface Reply {
  readonly label: EvalLabel;
  readonly note: string | null;
}

/** Null: enough, or the input has ended. */
async function ask(
  { trace, isRepeat }: TraceToLabel,
  position: string,
  replies: AsyncIterator<string>,
  note: (text: string) => void,
): Promise<Reply | null> {
  note(`\n${position}${isRepeat ? "  asked again" : ""}  ${trace.traceId}\n${summaryOf(trace)}`);
  for (;;) {
    process.stderr.write(PROMPT);
    const { value, done } = await replies.next();
    const line = done === true ? "q" : value.trim();
    const [, key = "", reason = ""] = /^(\S+)\s*(.*)$/s.exec(line) ?? [];
    const label = KEYS[key.toLowerCase()];
    if (label !== undefined) return { label, note: reason === "" ? null : reason };
    if (key === "q" || key === "quit") return null;
    if (key === "t") note(traceText(trace));
    else note(`"${stripControls(line)}" is none of g, b, s, t and q.`);
  }
}

/** What is asked after most: the question, what was answered, and what would have been right. */
function summaryOf(trace: EvaluatedTrace): string {
  const gold = isChatTrace(trace) ? null : isSuiteTrace(trace) ? trace.grade.reason : trace.task.answer;
  return [
    `Question:  ${askedOf(trace)}`,
    `Answer:    ${trace.answer ?? `none (${trace.ending})`}`,
    `Sources:   ${trace.sources.join(", ") || "none"}`,
    ...(gold === null ? [] : [`Gold:      ${gold}`]),
  ].join("\n");
}
