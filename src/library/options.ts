/** Options of every function that opens a database or downloads a dataset. */
export interface LibraryOptions {
  /** Path of the database [default: ART_E_DB, otherwise ./art-e.db]. */
  readonly db?: string;
  /** Folder for downloads and cached replies [default: ART_E_CACHE_DIR, otherwise ./.art-e-cache]. */
  readonly cacheDir?: string;
  /** Environment variables, such as API keys [default: those of the process]. A .env file is not read. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Stops the work. What is finished stays in the database. */
  readonly signal?: AbortSignal;
  /** Receives notes for the user, one line each. */
  readonly onNote?: (note: string) => void;
}
