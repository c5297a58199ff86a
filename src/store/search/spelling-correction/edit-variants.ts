/** Letters to put into a word, of the script that its first letter belongs to, as the index folds them. */
const ALPHABETS = ["abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюя", "αβγδεζηθικλμνξοπρστυφχψω"];

/**
 * The words at Damerau-Levenshtein distance 1 of a folded word: one letter left out, put in or changed, or two
 * neighbours swapped. Of scripts with other alphabets only what can be made of its own letters.
 */
export function editVariants(word: string): string[] {
  const letters = [...word];
  const alphabet = [...(ALPHABETS.find((one) => one.includes(letters[0] ?? "")) ?? "")];
  const variants = new Set<string>();
  for (let i = 0; i <= letters.length; i++) {
    const before = letters.slice(0, i).join("");
    const [letter = "", next = ""] = letters.slice(i);
    const after = letters.slice(i + 1).join("");
    if (i < letters.length) variants.add(before + after);
    if (i + 1 < letters.length) variants.add(before + next + letter + letters.slice(i + 2).join(""));
    for (const other of alphabet) {
      if (i < letters.length) variants.add(before + other + after);
      variants.add(before + other + letter + after);
    }
  }
  variants.delete(word);
  return [...variants];
}
