import { INSTRUCTION_STYLES } from "../../../domain/tasks/instruction-style.js";
import type { SuiteFinding } from "../finding.js";
import { findingsOf, type TaskCheck } from "./check-context.js";

/** Each task's counterpart is another task, which points back and has the other guidance. */
export const checkCounterpart: TaskCheck = (read, context) => {
  const { id, counterpart, tags } = read.task;
  if (counterpart === null) return [];
  const { error, warning } = findingsOf(read, context);
  if (counterpart === id) {
    const namedBy = context.tasks.find(({ task }) => task.counterpart === id && task.id !== id)?.task.id;
    const hint = namedBy === undefined ? "" : `; ${namedBy} names it and is probably meant`;
    return [error("counterpart_self", "counterpart", `is the task itself${hint}`)];
  }
  const other = context.byId.get(counterpart)?.task;
  if (other === undefined) return [error("counterpart_missing", "counterpart", `${counterpart} is not in the suite`)];
  const findings: SuiteFinding[] = [];
  if (other.counterpart !== id) {
    const named = other.counterpart === counterpart ? "itself" : (other.counterpart ?? "none");
    const message = `${counterpart} does not point back: it names ${named}`;
    findings.push(error("counterpart_not_mutual", "counterpart", message));
  }
  const shared = INSTRUCTION_STYLES.filter((tag) => tags.includes(tag) && other.tags.includes(tag));
  if (shared.length > 0) {
    const message = `${counterpart} is ${shared.join(" and ")} too; one of a pair is abstract, the other verbose`;
    findings.push(warning("counterpart_same_guidance", "counterpart", message));
  }
  return findings;
};
