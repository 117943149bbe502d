import type { Review } from "./review.ts";

/** Rules between values. */
export function checkRules(review: Review): void {
  void review;
}
