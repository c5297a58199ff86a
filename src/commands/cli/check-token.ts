import { UserError } from "../../domain/errors.js";

/** A bearer token that others cannot guess and that a header can hold. */
export function checkToken(token: string): string {
  if (/^[\x21-\x7e]{16,}$/.test(token)) return token;
  throw new UserError(
    "token_unusable",
    "The token cannot be used: expected at least 16 characters without white space.",
    "Make one: openssl rand -hex 24.",
  );
}
