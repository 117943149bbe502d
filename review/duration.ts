/** A duration for a person: "0 s", "71 s", "4 min 1 s"; whole seconds. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 120 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
