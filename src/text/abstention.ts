// Recognizes answers that only say that the answer is unknown.
import { trimEndOf } from "../platform/trim-end.js";

/** Longest abstention, in characters. A longer text contains an answer. */
const LONGEST = 600;

/** After one of these words, a text continues with an answer, with more or less confidence. */
const GOES_ON =
  /\b(but|however|though|although|nevertheless|nonetheless|that said|instead|except|likely|probably|perhaps|possibly|best guess|closest|i (believe|think|assume|guess)|appears? (to be|that)|seems? (to be|that)|so (i|we|he|she|they))\b/;

/** An introduction before the abstention: an excuse, or the place that was searched. */
const LEAD =
  /^((i am |i'm )?sorry|apologies|i apologi[sz]e|unfortunately|after (an? )?(thorough |extensive )?search[^,]*|having searched[^,]*|based on [^,]*|from (the|your|these) [^,]*|despite [^,]*)[,.:;]?( but)? /;

const MAIL = "(mailbox|inbox|e-?mails|mails|messages)";
const FOUND_IN = `(in|within|among|from|by) (the|your|this|my|any of the|any|these) (available |provided |searched )?${MAIL}`;
const FACT = "(information|answer|record|mention|reference|details?|evidence|results?|data)";
const COULD_NOT =
  "(could not|couldn't|cannot|can't|can not|did not|didn't|do not|don't|have not|haven't|(am|was|were|been) unable to|(am|was|were) not able to|wasn't able to|(have not|haven't) been able to)";

const SEARCHED = `(available |provided |searched |retrieved )?(${MAIL}|search results|available information|information (available|provided))( (in|of|from|to|that) [^,]*)?`;
const TELLS = "(mentions?|contains?|says?|specif(y|ies)|states?)";

/** Every form below contains one of these, so most answers need no further matching. */
const DENIES = /no|n't|never|un|insufficient|n\/a/;

/**
 * Forms of an abstention, matched against the first sentence in lower case. If a wording could also describe the
 * contents of one email, the form must mention the entire mailbox.
 */
const ABSTAINS: readonly RegExp[] = [
  /^(i|we) (do not|don't|can not|cannot|can't) (actually |really |currently )?(know|say|tell)( (the answer|for (sure|certain)|this|that|who|whom|whose|what|when|where|which|why|how|if|whether|based|from|because|as|since|yet|sorry)\b.*)?$/,
  /^(i|we) (do not|don't) know (the|her|his|their|your|its|any) [^,;]*$/,
  /^(i|we) (do not|don't) have (any |enough |sufficient |the |that |this )*(information|answer|details|data|record|e-?mails?)\b.*$/,
  new RegExp(
    `^(i|we) ${COULD_NOT} (find|locate|see|identify|uncover) .*\\b(${FACT}|mentions?|records|references|anything|answers|e-?mails?|mails?|messages?|mailbox|inbox)\\b.*$`,
  ),
  new RegExp(`^(i|we) ${COULD_NOT} (find|locate|see) (it|this|that|an answer|one)$`),
  new RegExp(`^(i|we) ${COULD_NOT} (determine|answer|work out|establish)\\b.*$`),
  new RegExp(
    `^(there (is|are|was|were) )?no (relevant |specific |further |matching |such |clear )*${FACT}s?\\b.*\\b(${MAIL}|search(es)?|found|available|given)\\b.*$`,
  ),
  /^(there (is|are|was|were) )?no (relevant |specific |matching |such )*(e-?mails?|mails?|messages?) .*\b(about|regarding|mention\w*|contain\w*|match\w*|found|(in|within) (the|your|this) (mailbox|inbox))\b.*$/,
  /^there (is|are|was|were) (nothing|no (e-?mails?|mails?|messages?))\b.*\b(mailbox|inbox|e-?mails|mails|messages)\b.*$/,
  new RegExp(
    `^(the|your|this|my|available|these) ${SEARCHED} (does not|do not|doesn't|don't|did not|didn't|never ${TELLS})\\b.*$`,
  ),
  new RegExp(`^none of (the|your|my|these) ${SEARCHED} ${TELLS}\\b.*$`),
  new RegExp(
    `^.{0,80} (is|was|are|were) (not|never) (\\w+ )?(mentioned|specified|stated|given|found|available|provided|contained|known|recorded|included) (anywhere )?${FOUND_IN}.*$`,
  ),
  new RegExp(
    `^(it|that|this|the answer|the information|this information|the question|this question) (is|was|could|can) ?(not|n't|never) (be )?(known|available|found|determined|answered|in (the|your|this) ${MAIL})\\b.*$`,
  ),
  /^(it|that|this|the answer|this information|the information|this question) (cannot|can't) be (known|found|determined|answered)\b.*$/,
  new RegExp(
    `^(is |was )?(unknown|not (known|found|available|specified|mentioned|stated|provided)|unanswerable|cannot (be )?determined?|cannot answer)( ${FOUND_IN})?$`,
  ),
  /^(n\/a|no answer( (was )?found)?|(the )?(answer|information|details) (is |was |are )?(unknown|not (known|found|available|provided))|(there is )?(insufficient|not enough) (information|data|evidence)\b.*)$/,
];

/** The patterns above, for implementations in other languages. */
export const ABSTENTION_RULES = { LONGEST, GOES_ON, LEAD, ABSTAINS };

/**
 * Returns whether an answer only says that the answer is unknown, like "I don't know". In doubt the text counts as an
 * answer: if it continues after the abstention, or describes what one email does not mention.
 */
export function isDontKnow(answer: string): boolean {
  const plain = answer
    .toLowerCase()
    .replace(/[‘’ʼ]/g, "'")
    .replace(/[*_`"“”]/g, "")
    .replace(/\s+/g, " ")
    .trim();
  if (plain === "" || plain.length > LONGEST || !DENIES.test(plain)) return false;
  const statement = plain.replace(LEAD, "");
  if (GOES_ON.test(statement)) return false;
  const [first = ""] = statement.split(/(?<=[.!?])\s/);
  const sentence = trimEndOf(first, ".!?");
  return ABSTAINS.some((form) => form.test(sentence));
}
