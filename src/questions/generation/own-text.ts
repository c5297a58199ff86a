/** Start of quoted or forwarded mail: a rule, a `>`, a header in the body, or a line that ends in "wrote:". */
const QUOTED = /(?<!-)-{3,}\s*(?:original message|forwarded by)|^>|^[ \t]*from:\s|^.*\bwrote:[ \t]*$/im;

/** What the sender wrote: the body before the mail that it quotes. */
export function ownText(body: string): string {
  const quoted = body.search(QUOTED);
  return (quoted === -1 ? body : body.slice(0, quoted)).trim();
}
