import { posix } from "node:path";
import type { SuiteFinding } from "../finding.js";
import type { LocatedCall } from "../located-call.js";
import { namedPaths } from "../named-paths.js";
import { findingsOf, type TaskCheck } from "./check-context.js";

/** The result and the gold file are saved under different names: equal ones compare a file with itself. */
export const checkDestinations: TaskCheck = (read, context) => {
  const { error } = findingsOf(read, context);
  const same = (field: string, name: string): SuiteFinding =>
    error("destination_equal", field, `${name} is where the result is saved too: the score is 1 whatever it holds`);
  if (read.task.dialect === "flowbook") {
    const paths = namedPaths(read);
    return paths
      .filter(({ kind }) => kind === "gold")
      .filter((gold) =>
        paths.some(
          ({ kind, path, call }) =>
            kind === "result" && call === gold.call && posix.basename(path) === posix.basename(gold.path),
        ),
      )
      .map(({ field, path }) => same(field, posix.basename(path)));
  }
  const destinations = (call: LocatedCall | undefined) => [call?.arguments.dest ?? []].flat();
  return read.calls
    .filter(({ role }) => role === "expected")
    .flatMap((expected) => {
      const result = read.calls.find(({ role, metric }) => role === "result" && metric === expected.metric);
      const shared = destinations(expected).filter((name) => destinations(result).includes(name));
      return shared.map((name) => same(`${expected.argumentsField}.dest`, String(name)));
    });
};
