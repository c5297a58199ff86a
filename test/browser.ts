import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { CHROMIUM } from "./machine-requirements.js";

/** A real browser, and how it opens a report from disk. */

/**
 * What costs as much as a page itself and is never looked at: the pages of the address bar, made for each window, and a
 * renderer in reserve. Of several such lists the browser reads the last, so that the library's own follows.
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

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
}

export interface Opened {
  readonly page: Page;
  /** Errors, warnings and blocked requests. */
  readonly complaints: string[];
  /** URLs requested besides the page. */
  readonly requests: string[];
}

/** Opens a file and waits for its table. */
export async function openPage(
  browser: Browser,
  file: string,
  { hash = "", ...options }: BrowserContextOptions & { readonly hash?: string } = {},
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  const requests: string[] = [];
  const url = pathToFileURL(file).href;
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (request.url().replace(/#.*/, "") !== url) requests.push(request.url());
  });
  await page.goto(`${url}${hash}`);
  await page.locator("tr[data-index]").first().waitFor();
  return { page, complaints, requests };
}
