import type { SuiteFinding } from "../finding.js";
import { needsMachine } from "../functions/needs-machine.js";
import { findingsOf, type TaskCheck } from "./check-context.js";

/** No field is misspelt or left out that the analysis goes by. */
export const checkFields: TaskCheck = (read, context) => {
  const { warning } = findingsOf(read, context);
  const { actionNumber, counterpart } = read.task;
  const findings: SuiteFinding[] = read.unknownFields.map((name) =>
    warning("field_unknown", name, "is no field of the task format"),
  );
  // Questions about mail have neither.
  if (!needsMachine(read.task)) return findings;
  if (actionNumber === null) {
    findings.push(warning("field_missing", "action_number", "is missing: the task has no difficulty"));
  }
  if (counterpart === null) {
    findings.push(
      warning("field_missing", "counterpart", "is missing: the task is in no pair of abstract and verbose"),
    );
  }
  return findings;
};
