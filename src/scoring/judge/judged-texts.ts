import type { JudgeCase } from "../../domain/scores/judgement.js";
import type { UntrustedText } from "../../models/delimit-untrusted.js";

/** What a judge is shown. */
export function judgedTexts({ question, gold, answer }: JudgeCase): readonly UntrustedText[] {
  return [
    { name: "question", text: question },
    { name: "correct_answer", text: gold },
    { name: "given_answer", text: answer },
  ];
}
