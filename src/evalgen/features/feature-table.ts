import { UserError } from "../../domain/errors.js";
import { answerComplete, answerWords, dateGiven, ended, numberGiven } from "./answer-features.js";
import { costUsd, failedCalls, repeatedCalls, seconds, turnCount, unparsableCalls } from "./effort-features.js";
import type { Feature } from "./feature.js";
import { numbersInMail, numbersInResults } from "./number-features.js";
import {
  mailsListedBeforeAbstaining,
  newerInThread,
  sourceCount,
  sourcesRead,
  sourcesReturned,
} from "./source-features.js";
import { commandsFailed, filesWritten, testsRun } from "./suite-features.js";

/** All features that rules may bound, by the name that eval files use. */
export const FEATURES: Readonly<Record<string, Feature>> = {
  numbers_in_mail: numbersInMail,
  numbers_in_results: numbersInResults,
  sources_read: sourcesRead,
  sources_returned: sourcesReturned,
  sources: sourceCount,
  newer_in_thread: newerInThread,
  mails_listed_before_abstaining: mailsListedBeforeAbstaining,
  answer_complete: answerComplete,
  ended,
  date_given: dateGiven,
  number_given: numberGiven,
  answer_words: answerWords,
  repeated_calls: repeatedCalls,
  unparsable_calls: unparsableCalls,
  failed_calls: failedCalls,
  turns: turnCount,
  cost_usd: costUsd,
  seconds,
  files_written: filesWritten,
  commands_failed: commandsFailed,
  tests_run: testsRun,
};

/** Throws where an eval names a feature that this version does not have. */
export function featureOf(name: string, where: string): Feature {
  const feature = Object.hasOwn(FEATURES, name) ? FEATURES[name] : undefined;
  if (feature !== undefined) return feature;
  throw new UserError(
    "feature_unknown",
    `${where}: there is no feature "${name}".`,
    `There are ${Object.keys(FEATURES).join(", ")}.`,
  );
}
