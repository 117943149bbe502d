import type { Attack } from "./attack.ts";
import { commandAttacks } from "./commands.ts";
import { apiServerKilled, killAttacks } from "./crashes.ts";
import { guardAttacks, identityAttacks } from "./edits.ts";
import { handAttacks } from "./hands.ts";

/**
 * Every attack of `make attacks`.
 * @param kills how often `up` is killed, each time at another moment
 */
export function allAttacks(kills: number): readonly Attack[] {
  return [
    ...identityAttacks,
    ...guardAttacks,
    ...commandAttacks,
    ...handAttacks,
    apiServerKilled,
    ...killAttacks(kills),
  ];
}
