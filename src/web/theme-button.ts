// The button that switches between dark and light.
import { h, setText } from "./dom.js";

const KEY = "art-e-theme";

/** A button that switches between dark and light. Before its first use, the page follows the system setting. */
export function themeButton(): HTMLElement {
  const button = h("button.quiet", "");
  const label = () => {
    setText(button, isDark() ? "Light" : "Dark");
    button.setAttribute("aria-label", isDark() ? "Switch to light colors" : "Switch to dark colors");
  };
  const storedTheme = remembered();
  if (storedTheme !== null) document.documentElement.dataset.theme = storedTheme;
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    remember(theme);
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
  return button;
}

function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
}

/** Some browsers do not allow pages opened from a file to use storage. */
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
