import { setMaxListeners } from "node:events";
import { type AppContext, DEFAULT_CACHE_DIR, DEFAULT_DB } from "../../platform/app-context.js";
import type { LibraryOptions } from "../options.js";

/** Returns the context for a call of the library. Aborting its signal stops running work immediately. */
export function contextOf({ db, cacheDir, env = process.env, signal, onNote }: LibraryOptions): AppContext {
  // A separate signal, because many calls can share the caller's, which warns about more than ten listeners.
  const stop = AbortSignal.any(signal === undefined ? [] : [signal]);
  setMaxListeners(0, stop);
  return {
    settings: {
      db: db ?? (env.ART_E_DB || DEFAULT_DB),
      cacheDir: cacheDir ?? (env.ART_E_CACHE_DIR || DEFAULT_CACHE_DIR),
      agentStderr: null,
      env,
    },
    note: (text) => onNote?.(text),
    progress: () => ({ update() {}, stop() {} }),
    signal: stop,
    untilSecond: () => stop,
  };
}
