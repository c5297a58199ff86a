// Follows HTTP redirects for clients that check each target before anything is sent there.

interface Redirect {
  readonly status: number;
  readonly from: URL;
  readonly to: URL;
}

interface RedirectRules<Reply> {
  /** Statuses of redirects that are followed. */
  readonly statuses: ReadonlySet<number>;
  /** Reads or cancels the body of a redirect. */
  discard(reply: Reply): Promise<unknown> | undefined;
  /** Throws if nothing may be sent to the target. */
  check(redirect: Redirect): void;
  /** Returns the error for a redirect that cannot be followed. */
  refuse(why: string, status: number): Error;
}

/** Redirects that repeat the request. A 303 would change it to a GET. */
export const REPEATING_REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);

const MAX_REDIRECTS = 5;

/** Sends a request to a URL and then to the URLs that it redirects to. Returns the first reply that is no redirect. */
export async function followRedirects<Reply extends { readonly status: number; readonly headers: Headers }>(
  url: string | URL,
  send: (url: URL) => Promise<Reply>,
  { statuses, discard, check, refuse }: RedirectRules<Reply>,
): Promise<Reply> {
  let from = new URL(url);
  for (let redirects = 0; ; redirects++) {
    const reply = await send(from);
    const { status } = reply;
    // The headers are read only for a redirect, because that takes time.
    const location = statuses.has(status) ? reply.headers.get("location") : null;
    if (location === null) return reply;
    await discard(reply);
    const to = URL.parse(location, from.href);
    if (to === null) throw refuse("redirects to an invalid URL", status);
    if (redirects === MAX_REDIRECTS) throw refuse(`redirects more than ${MAX_REDIRECTS} times`, status);
    check({ status, from, to });
    from = to;
  }
}
