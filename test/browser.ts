import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, inject, onTestFinished, TestRunner } from "vitest";
import { needs } from "./machine-requirements.js";

/** Pages in a real browser. */

export interface Opened {
  readonly page: Page;
  /** Errors, warnings and blocked requests. */
  readonly complaints: string[];
  /** URLs requested in addition to the page. */
  readonly requests: string[];
}

/**
 * The shared browser for a file or a suite, with one context per page. A page that a test opens is emptied or closed after the
 * test, and one opened in `beforeAll` is closed with the browser.
 */
export class TestBrowser {
  private browser: Browser | undefined;

  /** Empty pages of earlier tests. Reusing one takes 0.3 s of processor time, and opening one 0.7 s. */
  private readonly empty: Page[] = [];

  constructor() {
    if (needs("browser").skip) return;
    beforeAll(async () => {
      const response = await fetch(inject("browserUrl"));
      const text = await response.text();
      if (!response.ok) throw new Error(`the browser did not start: ${text}`);
      this.browser = await chromium.connect(text);
    });
    afterAll(() => this.browser?.close());
  }

  private async newPage(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser?.newContext(options);
    if (context === undefined) throw new Error("there is no browser");
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    return page;
  }

  /** Removes everything of the finished test from a page, and keeps it for the next test. */
  private async keep(page: Page): Promise<void> {
    const stopListening = () => {
      for (const event of ["console", "pageerror", "dialog", "request"] as const) page.removeAllListeners(event);
    };
    stopListening();
    // A page with unsaved changes asks before it is left.
    page.on("dialog", (dialog) => dialog.accept());
    try {
      await page.context().setOffline(false);
      await page.evaluate("localStorage.clear(); sessionStorage.clear()");
      await page.goto("about:blank", { timeout: 5_000 });
      await page.context().clearCookies();
      await page.context().clearPermissions();
      await page.setViewportSize({ width: 1280, height: 720 });
      await page.emulateMedia({ media: null, colorScheme: null, reducedMotion: null });
      stopListening();
      this.empty.push(page);
    } catch {
      // The test closed it, or its server is gone.
      await page.context().close();
    }
  }

  private async open(page: Page, url: string): Promise<Opened> {
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
    const page = await this.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
    if (TestRunner.getCurrentTest() !== undefined) onTestFinished(() => page.context().close());
    const opened = await this.open(page, `${pathToFileURL(file).href}${hash}`);
    await opened.page.locator("tr[data-index]").first().waitFor();
    return opened;
  }

  /** Opens a page of a server. `wrong`: its errors, and its requests to other hosts. */
  async openServed(url: string, options?: BrowserContextOptions): Promise<{ readonly page: Page; wrong(): string[] }> {
    const isReusable = options === undefined;
    const page = (isReusable ? this.empty.pop() : undefined) ?? (await this.newPage(options));
    if (TestRunner.getCurrentTest() !== undefined) {
      onTestFinished(() => (isReusable ? this.keep(page) : page.context().close()));
    }
    const { complaints, requests } = await this.open(page, url);
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
