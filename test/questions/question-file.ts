import { loadQuestionFile } from "../../src/questions/dataset/dataset-files.js";
import type { QuestionSet } from "../../src/tasks/question.js";

/** Returns the questions of one split in a file. */
export function questionsIn(file: string, split: "test" | "train" = "test"): Promise<QuestionSet> {
  return loadQuestionFile(file, split, new AbortController().signal);
}
