// The draft of a judge as an eval, with labeled answers in its prompt.
import { commandLine } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import type { Db } from "../../store/open-store.js";
import { questionOf } from "../../tasks/question.js";
import { isDontKnow } from "../../text/abstention.js";
import type { JudgeExample, JudgeSettings } from "../../traces/judgment.js";
import { getRun } from "../../traces/runs-store.js";
import { criterionSentence, modeFlag } from "../criteria.js";
import { BY_PERSON, type EvalDraft } from "../definition.js";
import { type EffectiveLabel, hashLabels, iterateLabeled } from "../effective-labels.js";
import { shuffleByHash } from "../split-questions.js";

interface JudgeDraft {
  readonly name: string;
  readonly judge: JudgeSettings;
  /** Number of labeled answers in the prompt. */
  readonly examples: number;
  readonly criterion: string;
  readonly seed: number;
}

interface DrawnExample {
  readonly example: JudgeExample;
  readonly label: EffectiveLabel;
}

/** Returns the draft of a judge, with examples from the labels that people gave to traces of the training half. */
export function judgeDraft(db: Db, { name, judge, examples: exampleCount, criterion, seed }: JudgeDraft): EvalDraft {
  const draws = exampleCount === 0 ? [] : drawExamples(db, { wanted: exampleCount, criterion, seed });
  const examples = draws.map(({ example }) => example);
  const isDrawn = draws.length > 0;
  return {
    name,
    kind: "judge",
    reference: true,
    criterion: criterionSentence(db, criterion) ?? "The judge calls the answer correct.",
    origin: isDrawn ? { by: "person", seed, labels: hashLabels(draws.map(({ label }) => label)) } : BY_PERSON,
    judge: isDrawn ? { ...judge, examples } : judge,
  };
}

/** Maximum characters of an answer in an example. */
const MAX_CHARS = 1_000;

/**
 * Draws at random one answer per question, half of them good. Never reads the held-out half, so that a test of the
 * judge is on answers that its prompt does not contain.
 */
function drawExamples(
  db: Db,
  { wanted, criterion, seed }: Pick<JudgeDraft, "criterion" | "seed"> & { readonly wanted: number },
): DrawnExample[] {
  const byQuestion = new Map<string, DrawnExample>();
  for (const { trace, label, question } of iterateLabeled(db, criterion, "training")) {
    const task = trace.kind === "chat" ? null : questionOf(trace);
    const { answer } = trace;
    // A judge returns the verdict on a missing answer without a model.
    if (task === null || answer === null || isDontKnow(answer) || label.source !== "person") continue;
    const example = {
      question: task.question,
      gold: task.answer.slice(0, MAX_CHARS),
      answer: answer.slice(0, MAX_CHARS),
      label: label.label,
    };
    byQuestion.set(question, { example, label });
  }
  const shuffled = shuffleByHash([...byQuestion.keys()], seed).flatMap((question) => byQuestion.get(question) ?? []);
  const half = Math.floor(wanted / 2);
  const bad = shuffled.filter(({ example }) => example.label === "bad").slice(0, half);
  const good = shuffled.filter(({ example }) => example.label === "good").slice(0, wanted - half);
  if (bad.length + good.length < wanted) {
    throw new UserError(
      "labels_few",
      `Too few labels for ${wanted} examples: people labeled ${good.length} good and ${bad.length} bad answers that can be shown and are not held out for tests.`,
      `Label more answers: ${commandLine`art-e evals label`}${modeFlag(criterion)}. Or pass a smaller number of --examples.`,
    );
  }
  // Good and bad alternate, so that the last examples are not all of one kind.
  return good.flatMap((one, i) => [one, ...bad.slice(i, i + 1)]);
}

/** Returns the judge of a run. Throws a UserError if the run was not judged. */
export function judgeOfRun(db: Db, name: string): JudgeSettings {
  const { id, settings } = getRun(db, name);
  if (settings.judge !== null) return settings.judge;
  throw new UserError(
    "judge_missing",
    `Cannot use the judge of ${id}: no judge graded it.`,
    "Pass a model as provider/model.",
  );
}
