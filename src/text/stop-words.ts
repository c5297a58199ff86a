/**
 * English words too common to distinguish one email from another. Words that quantify or date a fact (many, each, only,
 * now) are not included.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about after all also am an and any anyone are as at be because been before being between both but by can could d
  did do does doing done down during else ever every few find for from further get gets give gives given go goes going
  gone got had has have having he her here hers him his how i if in into is it its itself just know let like ll m make
  me mention mentioned might more most much must my myself name named need no nor not of off on once or other our out
  over own please re s same say said says she should so some such t take tell than that the their theirs them then
  there these they thing this those through to told too under until up upon us ve very was we were what when where
  which while who whom whose why will with would yes you your yours`.split(/\s+/),
);

/** Words about email itself, which occur in every mailbox and in most questions. */
export const MAIL_WORDS: ReadonlySet<string> = new Set("email emails mail mails message messages".split(" "));
