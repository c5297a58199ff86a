/** A published ART-E result. Latency and cost are null where none was published. */
export interface PublishedResult {
  readonly model: string;
  readonly accuracy: number;
  readonly secondsPerTask: number | null;
  readonly usdPerThousand: number | null;
}

/** Published results that were obtained under one protocol. */
export interface PublishedResults {
  readonly protocol: string;
  readonly figures: readonly PublishedResult[];
}
