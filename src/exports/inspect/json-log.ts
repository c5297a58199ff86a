import type { TextFormat } from "../trace-format.js";
import { toWellFormedJson } from "../well-formed-json.js";
import { inspectSample } from "./inspect-sample.js";
import { logHeader } from "./log-header.js";
import { LogTally } from "./log-tally.js";

/** Larger ones are shown without their samples. */
const MAX_VIEWED_CHARS = 100_000_000;

/** An Inspect log as one JSON document. Readers of the header alone stop at `samples`, so it comes after the rest. */
export const inspectJsonFormat: TextFormat = {
  *pieces(traces, context) {
    const tally = new LogTally(traces);
    const header = toWellFormedJson(logHeader(tally, context));
    yield `${header.slice(0, -1)},"samples":[`;
    let separator = "";
    let written = header.length;
    for (const trace of traces) {
      const sample = `${separator}${toWellFormedJson(inspectSample(trace, context))}`;
      written += sample.length;
      separator = ",\n";
      yield sample;
    }
    yield '],"reductions":[';
    separator = "";
    for (const reduction of tally.reductions()) {
      yield `${separator}${toWellFormedJson(reduction)}`;
      separator = ",\n";
    }
    yield "]}\n";
    if (written > MAX_VIEWED_CHARS) {
      context.report.note(
        "Inspect's viewer shows no samples of JSON files over 100 MB: --format inspect writes small ones.",
      );
    }
  },
};
