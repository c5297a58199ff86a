/** Labels and an eval that call short answers good. */

interface Answered {
  readonly traceId: string;
  readonly agentAnswer: string;
}

/** Maximum number of words of a good answer. */
const MOST_WORDS = 14;

export const isBrief = (answer: string) => answer.split(/\s+/).length <= MOST_WORDS;

/** An eval file with rules that pass answers of at most `words` words. */
export const briefEval = (words = MOST_WORDS, changes: object = {}) =>
  JSON.stringify({
    name: "brief",
    version: 1,
    kind: "rules",
    reference: false,
    criterion: "The answer is brief.",
    pass: { all: [{ feature: "answer_words", at_most: words }] },
    origin: { by: "person", seed: null, labels: null },
    ...changes,
  });

/** The lines of a label file for the tasks of a results file. */
export const labelLines = (answered: readonly Answered[], more: object = {}, isGood = isBrief) =>
  answered
    .map(({ traceId, agentAnswer }) =>
      JSON.stringify({ trace: traceId, source: "person", label: isGood(agentAnswer) ? "good" : "bad", ...more }),
    )
    .join("\n");
