import type { Scorer } from "../domain/scores/score.js";
import { normalizeAnswer } from "./normalize.js";

/** 1 where answer and gold are equal once case and white space are set aside. */
export const exactMatch: Scorer = ({ answer, task }) => ({
  value: normalizeAnswer(answer ?? "") === normalizeAnswer(task.answer) ? 1 : 0,
});
