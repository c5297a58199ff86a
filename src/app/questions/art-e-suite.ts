import { isQuestion, type Question } from "../../domain/tasks/question.js";
import type { OpenedTask, Suite } from "../../domain/tasks/suite.js";
import { taskMailbox } from "../mailbox/task-mailbox.js";
import type { AppContext } from "../use-case-context.js";
import { type DatasetOptions, loadDataset, noteKnownBad, type SelectionOptions, select } from "./load-dataset.js";

export interface QuestionOptions extends DatasetOptions, SelectionOptions {
  /** 0: all. */
  readonly limit: number;
}

/** The questions of ART-E, or of a file like theirs: each is about one mailbox, and its answer is scored. */
export function artESuite(
  cutoff: "query_date" | "off",
  options: QuestionOptions,
  context: AppContext,
): Suite<Question> {
  return {
    async list() {
      const set = await loadDataset(options, context);
      noteKnownBad(set, options, context);
      const { source, revision, sha256, split } = set;
      return { set: { source, revision, sha256, split }, tasks: select(set, options, options.limit) };
    },
    open: questionOpener(cutoff),
    close: async () => {},
  };
}

/** Nothing needs to be set up: the mail is there. */
export function questionOpener(cutoff: "query_date" | "off"): Suite["open"] {
  return async (task) => {
    if (!isQuestion(task)) throw new Error(`task ${task.id} is of a folder, and the run is over questions`);
    return { ok: true, opened: openQuestion(task, cutoff) };
  };
}

function openQuestion(question: Question, cutoff: "query_date" | "off"): OpenedTask {
  return {
    instruction: question.question,
    ...taskMailbox(question, cutoff),
    grade: async () => ({ task: question }),
    close: async () => {},
  };
}
