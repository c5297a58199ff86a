/** A part of a document that a search has found. */
export interface DocumentHit {
  readonly path: string;
  /** Character of the document where the part begins. */
  readonly offset: number;
  readonly snippet: string;
  /** Whether the part holds all words of the query, or matches best on any of them. */
  readonly match: "all_words" | "best_match";
}

export interface DocumentPage {
  readonly path: string;
  readonly content: string;
  readonly offset: number;
  /** Characters of the whole document. */
  readonly length: number;
  /** Null: the document ends here. */
  readonly nextOffset: number | null;
}

/** Port: the documents that a task's agent may search and read. */
export interface TaskDocuments {
  /** Any string is a safe query. */
  search(query: string, limit: number, signal: AbortSignal): Promise<readonly DocumentHit[]>;
  /** Null: there is no document of that path. */
  read(path: string, offset: number, signal: AbortSignal): Promise<DocumentPage | null>;
}
