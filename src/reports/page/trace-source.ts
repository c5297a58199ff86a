import type { Task } from "./load-report.js";
import type { ReportHead, TraceView } from "./report-data.js";
import { traceKey } from "./report-data.js";

declare global {
  interface Window {
    /** Called by each file of the folder with its key and its packed conversation. */
    artETrace?: (key: string, packed: string) => void;
    trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL(url: string): string },
      ): { createScriptURL(url: string): string };
    };
  }
}

/** A conversation that cannot be loaded; the message is for the reader. */
export class TraceMissing extends Error {}

/** Loads conversations, from the page or from the folder beside it. */
export class TraceSource {
  private readonly arrived = new Map<string, string>();
  private readonly urlOf: (key: string) => string;

  constructor(private readonly traces: ReportHead["traces"]) {
    window.artETrace = (key, packed) => this.arrived.set(key, packed);
    const plain = (key: string) => (traces.kind === "folder" ? `${encodeURIComponent(traces.folder)}/${key}.js` : "");
    const { trustedTypes } = window;
    if (traces.kind === "folder" && trustedTypes !== undefined) {
      const policy = trustedTypes.createPolicy("art-e", { createScriptURL: (url) => url });
      this.urlOf = (key) => policy.createScriptURL(plain(key));
    } else {
      this.urlOf = plain;
    }
  }

  async load({ run, taskId, epoch }: Task): Promise<TraceView> {
    const key = traceKey(run, taskId, epoch);
    const packed = document.getElementById(`trace-${key}`)?.textContent ?? (await this.fetched(key));
    return JSON.parse(await unpacked(packed)) as TraceView;
  }

  private async fetched(key: string): Promise<string> {
    const { traces } = this;
    if (traces.kind !== "folder") {
      throw new TraceMissing("This report was written without conversations.");
    }
    const known = this.arrived.get(key);
    if (known !== undefined) return known;
    await new Promise<void>((resolve, reject) => {
      const script = document.createElement("script");
      script.addEventListener("load", () => resolve());
      script.addEventListener("error", () =>
        reject(new TraceMissing(`The conversation is not there: keep the folder ${traces.folder} beside this page.`)),
      );
      script.src = this.urlOf(key);
      document.head.append(script);
    });
    const packed = this.arrived.get(key);
    if (packed === undefined)
      throw new TraceMissing(`The file of this conversation in ${traces.folder} is not of this report.`);
    return packed;
  }
}

async function unpacked(packed: string): Promise<string> {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}
