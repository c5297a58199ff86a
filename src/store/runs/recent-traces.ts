/** Characters. */
const ROOM = 4_000_000;

/** The last traces of a run as JSON, as many as have room: of a file that is cut off there is nothing else to be had. */
export class RecentTraces {
  private traces: string[] = [];
  private length = 0;

  add(trace: string): void {
    this.traces.push(trace);
    this.length += trace.length;
    while (this.length > ROOM && this.traces.length > 1) this.length -= this.traces.shift()?.length ?? 0;
  }

  all(): readonly string[] {
    return this.traces;
  }
}
