import { z } from "zod";
import { wordList } from "../cli/list-flags.js";
import { text } from "../cli/read-flags.js";

/** `accuracy,sources`: names of metrics, separated by commas. */
export const metrics = text
  .transform(wordList)
  .pipe(z.array(z.string()).min(1, "expected names of metrics, separated by commas"));
