/** Names that say nothing to someone who knows search engines, evaluation and Node, and the words used instead. */

const words = (text: string) => text.trim().split(/\s+/);

/** File names without their extension. */
export const FORBIDDEN_FILES: ReadonlySet<string> = new Set(
  words(`
    action-words agent-program begin bound-mail box chat-task elsewhere elsewhere-agent elsewhere-flags email-fields
    entries exchange fail figures file-head foreign gating guard header-block heard in-order in-pieces in-places in-turns
    keep keeper kept labels-file loaded-modules mail-query mail-shelf misfit moments nominees occurrences open-inside
    outside outside-tool paced-rate parties period place-routes places plain-fetch preamble printable quantities
    read-turn ready-judge recognise refusal regrade rehearsal result-thread retried-agent rollout run-elsewhere run-model
    score-sums score-tally search-rehearsal search-threads shapes shelf short-turns slice-sums small-heap spending
    split-words stored-report stored-totals tell term-lists thread-calls told trace-keeper turns urgency verdict-cache wish
  `),
);

/** Names of functions, constants and types. */
export const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(
  words(`
    Asked Door Elsewhere Nominee Nominees Outside Place Places Shelf Told Urgency
    apart checkReach foreign given heard hopeless inPieces inPlaces inShortTurns inTurns keep kept lay misfit nominees
    places reach readInTurns ready rehearse shelf shown taken tell there told urgency whole wish
  `),
);
