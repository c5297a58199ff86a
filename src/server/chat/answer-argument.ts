/** The arguments before the value of `answer`: an opening brace, and any complete properties. */
const BEFORE_ANSWER =
  /^\s*\{\s*(?:"(?!answer")[^"\\]*"\s*:\s*(?:\[[^\]]*\]|"(?:[^"\\]|\\.)*"|[^,"{[\]}]+)\s*,\s*)*"answer"\s*:\s*"/;

/** Maximum characters before the answer. */
const MAX_BEFORE = 20_000;

/** A character of a JSON string, or an escape sequence. A surrogate pair counts as one. */
const CHARACTER =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u(?![dD][89abAB])[\da-fA-F]{4}|\\["\\/bfnrt]|[^"\\\p{Cc}]/uy;

/**
 * Reads the answer from the JSON text of the arguments of `return_final_answer` while that text arrives. If the answer
 * comes in another form, no text is returned, and the complete call contains it.
 */
export class AnswerArgument {
  /** Text that is not read yet. */
  private pending = "";
  private state: "before" | "inside" | "after" = "before";
  /** White space that belongs to the answer only if more text follows. */
  private space = "";
  private isEmpty = true;

  /** Adds text of the arguments, and returns the further text of the trimmed answer. */
  add(text: string): string {
    if (this.state === "after") return "";
    this.pending += text;
    if (this.state === "before") {
      const before = BEFORE_ANSWER.exec(this.pending)?.[0];
      if (before === undefined) {
        if (this.pending.length > MAX_BEFORE) this.state = "after";
        return "";
      }
      this.state = "inside";
      this.pending = this.pending.slice(before.length);
    }
    return this.trimmed(this.readString());
  }

  /** Returns the complete characters at the start of the pending text. */
  private readString(): string {
    let end = 0;
    for (CHARACTER.lastIndex = 0; CHARACTER.test(this.pending); ) end = CHARACTER.lastIndex;
    const raw = this.pending.slice(0, end);
    this.pending = this.pending.slice(end);
    if (this.pending.startsWith('"')) this.state = "after";
    return JSON.parse(`"${raw}"`) as string;
  }

  private trimmed(text: string): string {
    const all = this.space + text;
    const answerText = this.isEmpty ? all.trimStart() : all;
    const visibleText = answerText.trimEnd();
    this.space = answerText.slice(visibleText.length);
    this.isEmpty &&= visibleText === "";
    return visibleText;
  }
}
