// Loads the chart and diff libraries when a page first needs them.
import { h } from "../dom.js";

const loaded = new Map<string, Promise<void>>();

/** Loads the scripts for charts (d3, plot) and differences (diff), in the order in which they need each other. */
export async function loadLibraries(...names: readonly ("d3" | "plot" | "diff")[]): Promise<void> {
  for (const name of names) if (!loaded.has(name)) loaded.set(name, loadScript(name));
  await Promise.all(names.map((name) => loaded.get(name)));
}

function loadScript(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = h("script", { src: `/page/${name}.js` });
    script.async = false;
    script.addEventListener("load", () => resolve());
    script.addEventListener("error", () => {
      loaded.delete(name);
      reject(new Error("This page's server is not responding. Start it again, then reload."));
    });
    document.head.append(script);
  });
}
