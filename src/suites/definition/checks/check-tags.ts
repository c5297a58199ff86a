import { INSTRUCTION_STYLES } from "../../../domain/tasks/instruction-style.js";
import type { SuiteFinding } from "../finding.js";
import { needsMachine } from "../functions/needs-machine.js";
import { needOf } from "../functions/task-requirement.js";
import { ACCOUNT_TAG, DOMAIN_TAGS, INTERFACE_TAGS, KNOWN_TAGS } from "../vocabulary.js";
import { findingsOf, type TaskCheck } from "./check-context.js";

/** One interface, one guidance and one domain tag, account where credentials are needed, and none of any other word. */
export const checkTags: TaskCheck = (read, context) => {
  const { tags, dialect } = read.task;
  // The vocabulary is of work at a machine.
  if (!needsMachine(read.task)) return [];
  const { warning } = findingsOf(read, context);
  const findings: SuiteFinding[] = [];
  for (const [i, tag] of tags.entries()) {
    if (KNOWN_TAGS.has(tag)) continue;
    findings.push(warning("tag_unknown", `tags[${i}]`, `${tag} is no tag of the task format`));
  }
  const kinds = [
    ["interface", INTERFACE_TAGS],
    ["guidance", INSTRUCTION_STYLES],
    ["domain", DOMAIN_TAGS],
  ] as const;
  for (const [kind, known] of kinds) {
    const count = tags.filter((tag) => (known as readonly string[]).includes(tag)).length;
    if (count === 1) continue;
    const message = `has ${count === 0 ? "no" : count} ${kind} tags; one of ${known.join(", ")}`;
    findings.push(warning("tag_count", "tags", message));
  }
  const needsAccount = read.calls.find((call) => needOf(call, dialect, context.custom) === "account");
  if (needsAccount !== undefined && !tags.includes(ACCOUNT_TAG)) {
    const message = `lacks ${ACCOUNT_TAG}, which ${needsAccount.func} needs: account settings reach only tasks with it`;
    findings.push(warning("tag_account_missing", "tags", message));
  }
  return findings;
};
