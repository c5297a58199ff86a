import { extname } from "node:path";

/** The file with another end beside a dataset: `my.jsonl`, `.review.jsonl` -> `my.review.jsonl`. */
export function sidecarPath(dataset: string, end: string): string {
  return `${dataset.slice(0, dataset.length - extname(dataset).length)}${end}`;
}
