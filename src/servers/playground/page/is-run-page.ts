/** A page that ends with a run: it has the sections of runs only, and only reads. */
export const isRunPage = document.documentElement.dataset.scope === "run";
