import { expect } from "chai";
import { type Attack, carriedOut, rowOf, survived } from "../attacks/attack.ts";
import { commandAttacks } from "../attacks/commands.ts";
import { killAttacks } from "../attacks/crashes.ts";
import { guardAttacks, identityAttacks } from "../attacks/edits.ts";
import { handAttacks } from "../attacks/hands.ts";
import { Victim } from "../attacks/victim.ts";
import { useLab } from "../support/lab.ts";

/** The fastest attacks, by which every guard fires once and once does not; `make attacks` runs all. */
const SHORT: readonly string[] = [
  // The check of stated fields, and the engine's guards.
  "metadata.name changed",
  "removed from the program",
  "re-parented with alias",
  "all guards gone in one commit, renamed",
  "all options gone in a first commit and applied, removed in a second",
  "pulumi destroy",
  // The policy in the cluster.
  "kubectl delete service",
  "kubectl delete namespace",
  "kubectl delete of the policy's binding",
];

describe("attacks on coder-predictor, short form", function () {
  this.timeout(300_000);
  const lab = useLab("test-attacks");
  let victim: Victim;
  before(async () => {
    victim = await Victim.on(lab());
  });
  after(async () => {
    await victim.remove();
  });

  const known = [...identityAttacks, ...guardAttacks, ...commandAttacks, ...handAttacks];
  const short = SHORT.map((name) => known.find((attack) => attack.name === name) ?? missing(name));
  for (const attack of [...short, ...killAttacks(3)]) {
    it(`is kept: ${attack.name}`, async () => {
      const result = await carriedOut(attack, victim);
      expect(survived(result), rowOf(result)).to.equal(true);
    });
  }
});

/** @throws Error always: a name that no attack has */
function missing(name: string): Attack {
  throw new Error(`no attack is called ${name}`);
}
