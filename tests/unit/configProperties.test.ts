import { expect } from "chai";
import fc from "fast-check";
import type { Path } from "../../config/fields.ts";
import { isInteger, isNumeric, leaves } from "../../config/fields.ts";
import { parseStackConfig } from "../../config/parse.ts";
import { ConfigError, keyOf } from "../../config/problems.ts";
import { arbitraryStack } from "../support/arbitraryConfig.ts";
import type { Raw } from "./configFixtures.ts";
import { fullStack, refusals, withValue } from "./configFixtures.ts";

const RUNS = { numRuns: 400 };
const LINE =
  /^llm-serving:[^\n]+ = [^\n]+: [^\n]+ \([^\n]+\); (run: |write |keep |change |rename |replace |remove )/;

/** What no key of the schema accepts, beside the right type. */
const junk = fc.oneof(
  fc.constantFrom(null, "", " ", "2x", "0x2", "False", NaN, Infinity, -1, 1e21, 0.1),
  fc.jsonValue(),
);

/** Any JSON below the keys of the schema, so that it gets past the first level. */
const shaped = fc
  .array(fc.tuple(fc.constantFrom(...leaves().map(([path]) => path)), junk), { maxLength: 20 })
  .map((changes) => changes.reduce((raw: Raw, [path, value]) => withValue(raw, path, value), {}));

function expectClear(raw: Raw): void {
  try {
    parseStackConfig(raw, "dev");
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.problems).not.to.be.empty;
    for (const { line } of error.problems) expect(line).to.match(LINE);
  }
}

describe("configuration: properties", () => {
  it("never fails with anything but clear refusals on arbitrary JSON", () => {
    fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), expectClear), RUNS);
    fc.assert(fc.property(shaped, expectClear), RUNS);
  });

  it("never fails with anything but clear refusals on arbitrary values at any key", () => {
    const paths = fc.constantFrom<Path[]>(...leaves().map(([path]) => path));
    const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true });
    fc.assert(
      fc.property(paths, anything, fc.nat(4), (path, value, depth) => {
        expectClear(withValue(fullStack(), path.slice(0, Math.max(1, path.length - depth)), value));
      }),
      RUNS,
    );
  });

  it("accepts every valid configuration and changes none of its values", () => {
    fc.assert(
      fc.property(arbitraryStack, (stack) => {
        const config = parseStackConfig(stack, "dev");
        expect(config).to.containSubset(stack);
        expect(parseStackConfig({ ...config }, "dev")).to.deep.equal(config);
      }),
      RUNS,
    );
  });

  it("refuses a valid configuration with one broken value, and names the key", () => {
    fc.assert(
      fc.property(arbitraryStack, fc.nat(), fc.nat(), (stack, which, how) => {
        const numbers = leaves().filter(([, field]) => isNumeric(field));
        const [path, field] = numbers[which % numbers.length] ?? [[], undefined];
        const broken = [null, "1", "", true, NaN, -1, 2 ** 31, 1e21];
        if (field && isInteger(field)) broken.push(0.5);
        const lines = refusals(withValue(stack, path, broken[how % broken.length]));
        const named = lines.filter((line) => line.startsWith(`${keyOf(path)} = `));
        expect(named).to.have.lengthOf(1);
      }),
      RUNS,
    );
  });

  it("refuses a valid configuration with one unknown key, and names it", () => {
    fc.assert(
      fc.property(
        arbitraryStack,
        fc.constantFrom<Path[]>([], ["clefServe"], ["candleVllm", "model"], ["gpuNodes", 0]),
        fc.stringMatching(/^[a-z]{1,12}X$/),
        (stack, path, key) => {
          const lines = refusals(withValue(stack, [...path, key], 1));
          expect(lines).to.have.lengthOf(1);
          expect(lines[0])
            .to.include(`${keyOf([...path, key])} = `)
            .and.include("unknown key");
        },
      ),
      RUNS,
    );
  });
});
