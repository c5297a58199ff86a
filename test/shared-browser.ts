import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type BrowserServer, chromium } from "playwright-core";
import { CHROMIUM } from "./machine-requirements.js";

/** One browser for all test files, started when the first of them asks for it. */

/**
 * Features that cost as much as a page and that no test needs: the address bar's pages for each window, and a spare
 * renderer. The browser uses the last of several such lists, so this one also contains the library's own.
 */
const FEATURES_OFF = `WebUIOmniboxPopup WebUIOmniboxAimPopup SpareRendererForSitePerProcess
  AvoidUnnecessaryBeforeUnloadCheckSync DestroyProfileOnBrowserClose HttpsUpgrades HttpsFirstBalancedModeAutoEnable
  LensOverlay MediaRouter PaintHolding ThirdPartyStoragePartitioning OptimizationHints NetworkTimeServiceQuerying
  AimEnabled PreconnectToSearch`;

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-dev-shm-usage",
  "--disable-gpu",
  "--disable-software-rasterizer",
  `--disable-features=${FEATURES_OFF.split(/\s+/).join(",")}`,
];

export interface SharedBrowser {
  /** Responds with the browser's WebSocket URL. */
  readonly url: string;
  close(): Promise<void>;
}

export async function shareBrowser(): Promise<SharedBrowser> {
  let browser: Promise<BrowserServer> | undefined;
  const server = createServer(async (_, response) => {
    browser ??= chromium.launchServer({ executablePath: CHROMIUM, args: ARGUMENTS });
    await browser.then(
      (started) => response.end(started.wsEndpoint()),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await (await browser?.catch(() => undefined))?.close();
    },
  };
}
