/**
 * Measures a run from inside (`node --import`): its event loop delay, and the time that SQLite and the garbage collector
 * blocked the loop, at its start, while tasks were running and after the last reply; and its peak memory. Prints the
 * figures to stderr when the process ends.
 */
import { subscribe } from "node:diagnostics_channel";
import { createRequire } from "node:module";
import { createHistogram, PerformanceObserver } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";

const Database = createRequire(import.meta.url)("better-sqlite3");

if (isMainThread) {
  const loop = watchLoop();
  const collector = watchCollector();
  const sqlite = watchSqlite(collector.within);
  process.on("exit", () => {
    const peakMegabytes = process.resourceUsage().maxRSS / 1024;
    const figures = { peakMegabytes, loopDelayMs: loop(), sqliteMs: sqlite(), gcMs: collector.figures() };
    process.stderr.write(`\nfigures ${JSON.stringify(figures)}\n`);
  });
}

/** Milliseconds, separately before the first request, until the last reply, and after it. */
function byPhase() {
  const start = createHistogram();
  const underWay = createHistogram();
  const sinceReply = createHistogram();
  let isUnderWay = false;
  let hasReply = false;
  subscribe("undici:request:create", () => {
    isUnderWay = true;
  });
  subscribe("undici:request:trailers", () => {
    hasReply = true;
  });
  const longest = (histogram) => (histogram.count === 0 ? 0 : histogram.max / 1_000);
  return {
    record(ms) {
      if (hasReply) {
        underWay.add(sinceReply);
        sinceReply.reset();
        hasReply = false;
      }
      (isUnderWay ? sinceReply : start).record(Math.max(1, Math.round(ms * 1_000)));
    },
    figures: () => ({
      start: longest(start),
      underWay: { p99: underWay.percentile(99) / 1_000, max: longest(underWay) },
      end: longest(sinceReply),
    }),
  };
}

/** A one-millisecond timer measures its own delay. */
function watchLoop() {
  const delays = byPhase();
  let last = performance.now();
  const tick = () => {
    const now = performance.now();
    delays.record(now - last - 1);
    last = now;
  };
  setInterval(tick, 1).unref();
  return () => {
    tick();
    return delays.figures();
  };
}

/**
 * All SQLite work on the main thread in one turn of the event loop counts as one measurement. Garbage collection during
 * that work is subtracted.
 */
function watchSqlite(collectedWithin) {
  const turns = byPhase();
  let calls = [];
  const endTurn = () => {
    turns.record(calls.reduce((sum, [from, to]) => sum + to - from - collectedWithin(from, to), 0));
    calls = [];
  };
  const timed = (prototype, names) => {
    for (const name of names) {
      const method = prototype[name];
      prototype[name] = function (...args) {
        const before = performance.now();
        try {
          return method.apply(this, args);
        } finally {
          if (calls.push([before, performance.now()]) === 1) setImmediate(endTurn);
        }
      };
    }
  };
  const db = new Database(":memory:");
  const statement = db.prepare("SELECT 1");
  const rows = statement.iterate();
  timed(Object.getPrototypeOf(rows), ["next"]);
  rows.return();
  timed(Object.getPrototypeOf(statement), ["run", "get", "all", "iterate"]);
  timed(Object.getPrototypeOf(db), ["prepare", "exec", "pragma", "close"]);
  db.close();
  return () => {
    endTurn();
    return turns.figures();
  };
}

function watchCollector() {
  const pauses = byPhase();
  let newest = [];
  const take = (entries) => {
    for (const { duration } of entries) pauses.record(duration);
    newest = [...newest, ...entries].slice(-20);
  };
  const observer = new PerformanceObserver((list) => take(list.getEntries()));
  observer.observe({ entryTypes: ["gc"] });
  return {
    figures: pauses.figures,
    within(from, to) {
      take(observer.takeRecords());
      const inside = newest.filter(({ startTime }) => startTime >= from && startTime < to);
      return inside.reduce((sum, { duration }) => sum + duration, 0);
    },
  };
}
