/** "I don't know" as agents write it, alone or with a word more; a sentence that goes on to answer is an answer. */
const DONT_KNOW = /^(sorry[,.]? )?i (do not|don'?t|don’t) know\b[^\n]{0,20}$/i;

export function isDontKnow(answer: string): boolean {
  return DONT_KNOW.test(answer.trim());
}
