import { UserError } from "../domain/errors.js";
import { trimEndOf } from "../domain/trim-end.js";
import { parseHttpUrl } from "../platform/http/http-url.js";

/** How to connect to a provider, as the user gave it. */
export interface EndpointSettings {
  readonly apiKey: string | null;
  /** Null: the provider's own server. */
  readonly baseUrl: string | null;
  /** For the openai provider only; null chooses by the server. */
  readonly wireApi: "chat" | "responses" | null;
  /** Of one attempt, the whole body included. */
  readonly timeoutMs: number;
}

/** The same, checked and with the API key found. */
export interface Endpoint {
  readonly apiKey: string;
  readonly baseUrl: string | null;
  readonly timeoutMs: number;
}

/** Checks a base URL and takes the slashes off its end. Throws a UserError that names the flag. */
export function checkBaseUrl(baseUrl: string): string {
  if (parseHttpUrl(baseUrl) === null) {
    throw new UserError(
      "bad_base_url",
      "--base-url is not the address of a model server.",
      "Give it as http(s)://host[:port]/path without a user name or password in it, such as http://localhost:8000/v1.",
    );
  }
  return trimEndOf(baseUrl.trim(), "/");
}
