// Adds one eval as a draft: a template, assertions, a criterion as a rubric, or a judge of answers.
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { type JudgeOptions, judgeSettings } from "../scoring/judge-settings.js";
import { type Db, withStore } from "../store/open-store.js";
import { judgeDraft, judgeOfRun } from "./add-eval/judge-draft.js";
import { criterionSentence, OVERALL } from "./criteria.js";
import { type Assertion, BY_PERSON, BY_TEMPLATES, type EvalDraft, evalDefinitionSchema } from "./definition.js";
import { assertionText } from "./run-evals/run-rules.js";
import { type SavedEval, saveDraft } from "./store.js";
import { TEMPLATES, templateEval } from "./templates.js";

interface AddOptions {
  /** Name of a template or of a new eval. */
  readonly name: string;
  /** Threshold, only for a template without a fixed bound. */
  readonly bound: number | null;
  /** Assertions about the answer, if any. */
  readonly assertions: readonly Assertion[];
  /** Model that reads the rubric, or null if the eval is not a rubric. */
  readonly rubricModel: string | null;
  /** Judge of answers, or null if the eval is not a judge. */
  readonly judge: JudgeChoice | null;
  /** The criterion whose sentence describes the eval. Rubrics default to `overall`. */
  readonly criterion?: string | undefined;
}

interface JudgeChoice {
  /** `--judge` is a model, or a run whose judge is added. */
  readonly options: JudgeOptions;
  /** Number of labeled answers in the prompt. */
  readonly examples: number;
  readonly seed: number;
}

/** Saves an eval as a draft: a template, assertions, a criterion as a rubric, or a judge of answers. */
export function addEval(options: AddOptions, settings: AppSettings): Promise<SavedEval> {
  return withStore(settings, (db) => {
    const draft = draftOf(db, options, settings);
    const { error } = evalDefinitionSchema.safeParse({ ...draft, version: 1 });
    const [issue] = error?.issues ?? [];
    if (issue !== undefined) {
      const where = issue.path.filter((part) => typeof part === "string").at(-1) ?? "the eval";
      throw new UserError("eval_invalid", `${where}: ${issue.message}.`, `See ${commandLine`art-e evals add --help`}.`);
    }
    return saveDraft(db, draft, new Date().toISOString(), options.criterion);
  });
}

function draftOf(db: Db, options: AddOptions, { env }: AppSettings): EvalDraft {
  const { name, bound, assertions, rubricModel, judge: judgeChoice, criterion } = options;
  if (judgeChoice !== null) {
    const { options: requestedJudge, examples, seed } = judgeChoice;
    // Models contain a slash. Runs do not.
    const isRun = requestedJudge.judge?.includes("/") === false;
    const judgeOptions = isRun
      ? { ...requestedJudge, judge: undefined, judgeOfEval: judgeOfRun(db, requestedJudge.judge ?? "") }
      : requestedJudge;
    const judge = judgeSettings(judgeOptions, null, null, env);
    if (judge === null) {
      throw new UserError(
        "judge_missing",
        "Cannot add a judge without a model.",
        "Pass --judge provider/model or --judge RUN.",
      );
    }
    return judgeDraft(db, { name, judge, examples, criterion: criterion ?? OVERALL, seed });
  }
  if (rubricModel !== null) {
    const about = criterion ?? OVERALL;
    const sentence = criterionSentence(db, about);
    if (sentence === null) {
      throw new UserError(
        "criterion_unwritten",
        `Cannot make a rubric: the mode ${about} does not have a description.`,
        `Describe it: ${commandLine`art-e evals modes describe ${about} --sentence ${"The answer is polite."}`}`,
      );
    }
    const criterionAndRubric = { criterion: sentence, rubric: sentence, model: rubricModel };
    return { name, kind: "rubric", reference: false, ...criterionAndRubric, origin: BY_PERSON };
  }
  if (assertions.length > 0) {
    const text = assertions.map(assertionText).join(", and ");
    const sentence = criterion === undefined ? null : criterionSentence(db, criterion);
    const about = sentence ?? `${text.charAt(0).toUpperCase()}${text.slice(1)}.`.slice(0, 1_000);
    return {
      name,
      kind: "assertions",
      reference: false,
      criterion: about,
      answer: { all: [...assertions] },
      origin: BY_PERSON,
    };
  }
  const template = TEMPLATES.find((one) => one.name === name);
  if (template === undefined) {
    throw new UserError(
      "template_unknown",
      `Unknown template "${name}".`,
      `Available: ${TEMPLATES.map((one) => one.name).join(", ")}. For another check, pass --contains, --lacks, --matches, --is-json, --json-key or --rubric.`,
    );
  }
  if ((template.bound === "cut") !== (bound !== null)) {
    const message = bound === null ? `${name} requires a threshold` : `--at-most: ${name} has a fixed threshold`;
    const hint = bound === null ? "Pass --at-most N." : "Remove --at-most.";
    throw new UserError("template_threshold_invalid", `${message}.`, hint);
  }
  return templateEval(template, bound ?? 0, BY_TEMPLATES);
}
