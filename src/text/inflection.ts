// Words of languages whose inflection the index's English stemmer does not know, without their endings or article.
import { stemmer } from "@orama/stemmers/russian";
import { isAscii, plainLetters } from "./plain-letters.js";

const INFLECTED = /[\u0400-\u052f\u0620-\u06d3]/;
/** Words in Cyrillic, and words in Arabic script that can have the article. */
const WORDS = /[\u0400-\u052f]{3,}|[\u0620-\u06d3]{5,}/g;
/** The Arabic article, also with "and", "with", "like", "so" or "for" before it (light10 of Larkey et al., 2007). */
const ARTICLE = /^(?:[وبكف]?ال|لل)(?=.{3})/;

/**
 * Returns the words of a text that have another form without their inflection, in that form: `договор` for
 * `договорах`, and `ميزانيه` for `الميزانية`. Words in Cyrillic are stemmed as Russian, whatever their language: index
 * and queries only need the same form.
 */
export function withoutInflection(text: string): string[] {
  if (isAscii(text) || !INFLECTED.test(text)) return [];
  const words = plainLetters(text).toLowerCase().match(WORDS) ?? [];
  return words.flatMap((word) => {
    const stem = word < "\u0600" ? stemmer(word) : word.replace(ARTICLE, "");
    return stem === word ? [] : [stem];
  });
}
