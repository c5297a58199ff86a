/** Replaces `// comments` outside of strings by nothing, as settings templates hold them. Line numbers stay. */
export function stripJsonComments(text: string): string {
  let stripped = "";
  let from = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const sign = text[i];
    if (inString) {
      if (sign === "\\") i++;
      else if (sign === '"') inString = false;
    } else if (sign === '"') inString = true;
    else if (sign === "/" && text[i + 1] === "/") {
      stripped += text.slice(from, i);
      const end = text.indexOf("\n", i);
      from = i = end === -1 ? text.length : end;
    }
  }
  return stripped + text.slice(from);
}
