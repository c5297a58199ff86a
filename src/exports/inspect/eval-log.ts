import type { BinaryFormat } from "../trace-format.js";
import { epochOf, taskIdOf } from "../trace-parts.js";
import { toWellFormedJson } from "../well-formed-json.js";
import { DeflatedList } from "./deflated-list.js";
import { inspectSample, inspectSummary } from "./inspect-sample.js";
import { logHeader, logStart } from "./log-header.js";
import { LogTally } from "./log-tally.js";
import { ZipWriter } from "./zip-writer.js";

/**
 * An Inspect log as an `.eval` file: a zip of the start, a file for each sample, their summaries, the reductions over
 * epochs and, last, the header. Only the compressed summaries are held until the samples are written.
 */
export const inspectFormat: BinaryFormat = {
  *bytes(traces, context) {
    const tally = new LogTally(traces);
    const zip = new ZipWriter(context.run?.startedAt ?? tally.startedAt);
    const summaries = new DeflatedList();
    zip.addText("_journal/start.json", toWellFormedJson(logStart(tally, context)));
    for (const trace of traces) {
      const name = `samples/${taskIdOf(trace)}_epoch_${epochOf(trace)}.json`.toWellFormed();
      zip.addText(name, toWellFormedJson(inspectSample(trace, context)));
      summaries.push(inspectSummary(trace, context));
      yield* zip.take();
    }
    summaries.end();
    zip.add("_journal/summaries/1.json", summaries);
    zip.add("summaries.json", summaries);
    const reductions = new DeflatedList();
    for (const reduction of tally.reductions()) reductions.push(reduction);
    reductions.end();
    zip.add("reductions.json", reductions);
    zip.addText("header.json", toWellFormedJson(logHeader(tally, context)));
    zip.end();
    yield* zip.take();
  },
};
