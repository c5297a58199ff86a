import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { getCurrentTest } from "vitest/suite";
import { CHROMIUM, needs } from "./machine-requirements.js";

/** Pages in a real browser. */

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

export interface Opened {
  readonly page: Page;
  /** Errors, warnings and blocked requests. */
  readonly complaints: string[];
  /** URLs requested in addition to the page. */
  readonly requests: string[];
}

/**
 * A browser for a file or a suite, with one context per page. A page that a test opens is closed after the test, and
 * one opened in `beforeAll` is closed with the browser.
 */
export class TestBrowser {
  private browser: Browser | undefined;

  constructor() {
    if (needs("browser").skip) return;
    beforeAll(async () => {
      this.browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
    });
    afterAll(() => this.browser?.close());
  }

  private async open(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
    const context = await this.browser?.newContext(options);
    if (context === undefined) throw new Error("there is no browser");
    if (getCurrentTest() !== undefined) onTestFinished(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const complaints: string[] = [];
    const requests: string[] = [];
    page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      if (request.url().replace(/#.*/, "") !== url.replace(/#.*/, "")) requests.push(request.url());
    });
    await page.goto(url);
    return { page, complaints, requests };
  }

  /** Opens a report and waits for its table. */
  async openReport(
    file: string,
    { hash = "", ...options }: BrowserContextOptions & { readonly hash?: string } = {},
  ): Promise<Opened> {
    const opened = await this.open(`${pathToFileURL(file).href}${hash}`, {
      viewport: { width: 1280, height: 900 },
      reducedMotion: "reduce",
      ...options,
    });
    await opened.page.locator("tr[data-index]").first().waitFor();
    return opened;
  }

  /** Opens a page of a server. `wrong`: its errors, and its requests to other hosts. */
  async openServed(url: string, options?: BrowserContextOptions): Promise<{ readonly page: Page; wrong(): string[] }> {
    const { page, complaints, requests } = await this.open(url, options);
    const { origin } = new URL(url);
    return {
      page,
      wrong: () => [
        // The browser itself reports the 401 after which the page requests its token.
        ...complaints.filter((text) => !/^(log|info|debug|warning): |^error: .* 401 /.test(text)),
        ...requests.filter((request) => !request.startsWith(origin) && !request.startsWith("data:")),
      ],
    };
  }
}
