import type { Question } from "../../domain/tasks/question.js";
import type { OpenedTask } from "../../domain/tasks/suite.js";
import { endOfDay } from "../../store/search/date-range.js";

/** What a task about a mailbox tells an agent of it, and lets its tools read. */
export function taskMailbox(
  { inbox_address, query_date }: Pick<Question, "inbox_address" | "query_date">,
  cutoff: "query_date" | "off",
): Pick<OpenedTask, "variables"> & { readonly access: { readonly inbox: string; readonly cutoff: string | null } } {
  return {
    variables: { inbox_address, query_date },
    access: { inbox: inbox_address, cutoff: cutoff === "off" ? null : endOfDay(query_date) },
  };
}
