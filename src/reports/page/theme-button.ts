import { h } from "./shared/dom.js";

const KEY = "art-e-theme";

/** A button that switches between dark and light; before it is used, the page follows the system. */
export function themeButton(onChange: () => void): HTMLElement {
  const button = h("button", { type: "button", class: "quiet" }, "");
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
  };
  const kept = remembered();
  if (kept !== null) document.documentElement.dataset.theme = kept;
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    remember(theme);
    label();
    onChange();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
  return button;
}

function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
}

/** Some browsers deny storage to pages opened from a file. */
function remembered(): string | null {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === "dark" || theme === "light" ? theme : null;
  } catch {
    return null;
  }
}

function remember(theme: string): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The choice then lasts until the page is closed.
  }
}
