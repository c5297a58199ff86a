import { z } from "zod";
import { isQuestion, type Question, questionSchema } from "./question.js";
import { TASK_STATES } from "./task-state.js";

/** What a run keeps of a suite's task, wherever its folder may be later. */
export const suiteTaskFactsSchema = z.object({
  id: z.string().min(1),
  /** The suite's name. */
  suite: z.string(),
  dialect: z.enum(["flowbook", "spider2v"]),
  tool: z.string(),
  instruction: z.string(),
  snapshot: z.string(),
  tags: z.array(z.string()).readonly(),
  relatedApps: z.array(z.string()).readonly(),
  actionNumber: z.number().nullable(),
  counterpart: z.string().nullable(),
  /** Of a task that asks a question of a mailbox: with its gold answer, and the id that it has in its dataset. */
  emailQuestion: questionSchema.exactOptional(),
});

export type SuiteTaskFacts = Readonly<z.output<typeof suiteTaskFactsSchema>>;

/** What evaluation functions gave, and how the task ended as suites name it. */
export const gradeSchema = z.object({
  /** 0 to 1; null: not graded, which is never averaged as 0. */
  score: z.number().nullable(),
  state: z.enum(TASK_STATES),
  reason: z.string(),
});

export type TaskGrade = Readonly<z.output<typeof gradeSchema>>;

/** A question about a mailbox, or a task of a suite. */
export type TaskFacts = Question | SuiteTaskFacts;

/** What the agent is asked to do. */
export function instructionOf(task: TaskFacts): string {
  return isQuestion(task) ? task.question : task.instruction;
}

/** The question that a task asks of a mailbox; null: it is graded by what is left behind. */
export function questionOf(task: TaskFacts): Question | null {
  return isQuestion(task) ? task : (task.emailQuestion ?? null);
}
