import type { Scorer } from "../domain/scores/score.js";
import { normalizeAnswer } from "./normalize-answer.js";

/** 1 if answer and gold are equal up to case and white space. */
export const exactMatch: Scorer = ({ answer, task }) => ({
  value: normalizeAnswer(answer ?? "") === normalizeAnswer(task.answer) ? 1 : 0,
});
