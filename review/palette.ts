/** What a picture lies on. */
export type Theme = "light" | "dark";

/** Colours of one theme, as CSS writes them. */
export interface Colours {
  readonly background: string;
  readonly ink: string;
  readonly muted: string;
  /** Edge of what is empty. */
  readonly line: string;
  /** What cannot be: cards that do not exist. */
  readonly wrong: string;
  /** Text on a fill. */
  readonly onFill: string;
  /** One for each workload, in the order of {@link workloadLabels}; then again from the first. */
  readonly fills: readonly string[];
  /** Two stripes of a pod that is not the stack's. */
  readonly stranger: readonly [string, string];
}

/**
 * Hues of Okabe and Ito, which people who confuse colours tell apart, lightened or darkened until text on them has a
 * contrast of at least 4.5; a test computes it.
 */
export const palettes: Readonly<Record<Theme, Colours>> = {
  light: {
    background: "#ffffff",
    ink: "#1f2328",
    muted: "#59636e",
    line: "#818b98",
    wrong: "#d1242f",
    onFill: "#1f2328",
    fills: ["#8fd6b4", "#9fd4f3", "#f0c27b", "#e6b3d1", "#f2e782", "#b5c3e8"],
    stranger: ["#ffb8b0", "#ffd4cf"],
  },
  dark: {
    background: "#0d1117",
    ink: "#f0f6fc",
    muted: "#9198a1",
    line: "#656c76",
    wrong: "#f85149",
    onFill: "#ffffff",
    fills: ["#00664a", "#005f96", "#7d4e00", "#8a3f6c", "#5c5700", "#4a4fa0"],
    stranger: ["#8e1519", "#6d1013"],
  },
};
