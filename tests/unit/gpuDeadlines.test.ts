import { expect } from "chai";
import fc from "fast-check";
import { deadlines, imagePullSeconds, probePeriodSeconds } from "../../gpu/deadlines.ts";
import { deviceList, shmGiB } from "../../gpu/devices.ts";

describe("deadlines", () => {
  it("D07 gives clef-serve's cold start of 240 s a startup budget of 60 x 10 s", () => {
    expect(deadlines({ coldStartSeconds: 240, graceSeconds: 60 })).to.deep.equal({
      failureThreshold: 60,
      startupBudgetSeconds: 600,
      progressDeadlineSeconds: 1320, // 60 + 600 + 600 and 60 s of slack
      awaitSeconds: 1380,
    });
  });

  it("D07 takes 2.5 x the cold start once that is longer, rounded up to the probe period", () => {
    const budget = (coldStartSeconds: number) =>
      deadlines({ coldStartSeconds, graceSeconds: 60 }).startupBudgetSeconds;
    expect([1, 240, 241, 245, 3600].map(budget)).to.deep.equal([600, 600, 610, 620, 9000]);
  });

  it("D08 keeps grace + pull + startup < progress deadline < wait of up for all inputs", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3600 }),
        fc.integer({ min: 1, max: 600 }),
        fc.integer({ min: 0, max: 7200 }),
        (coldStartSeconds, graceSeconds, pullSeconds) => {
          const chain = deadlines({ coldStartSeconds, graceSeconds, pullSeconds });
          expect(chain.startupBudgetSeconds).to.equal(chain.failureThreshold * probePeriodSeconds);
          expect(chain.startupBudgetSeconds).to.be.at.least(2.5 * coldStartSeconds);
          const content = graceSeconds + pullSeconds + chain.startupBudgetSeconds;
          expect(content).to.be.below(chain.progressDeadlineSeconds);
          expect(chain.progressDeadlineSeconds).to.be.below(chain.awaitSeconds);
          for (const seconds of Object.values(chain)) expect(seconds % 1).to.equal(0);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("D08 counts the pull allowance: the deadline moves with it", () => {
    const at = (pullSeconds?: number) =>
      deadlines({
        coldStartSeconds: 240,
        graceSeconds: 60,
        ...(pullSeconds === undefined ? {} : { pullSeconds }),
      }).progressDeadlineSeconds;
    expect(at()).to.equal(at(imagePullSeconds));
    expect(at(1200) - at(600)).to.equal(600);
  });

  it("throws a RangeError that names a time that is no duration", () => {
    const valid = { coldStartSeconds: 240, graceSeconds: 60, pullSeconds: 600 };
    for (const name of Object.keys(valid)) {
      for (const value of [NaN, Infinity, -1]) {
        expect(() => deadlines({ ...valid, [name]: value })).to.throw(
          RangeError,
          `${name} = ${value}`,
        );
      }
    }
  });
});

describe("what a pod derives from its cards", () => {
  it("D06 gives /dev/shm 4 GiB from two cards on and none to one", () => {
    expect([1, 2, 4].map(shmGiB)).to.deep.equal([0, 4, 4]);
  });

  it("D02 lists as many devices as there are cards", () => {
    expect([1, 2, 4].map(deviceList)).to.deep.equal(["0", "0,1", "0,1,2,3"]);
  });
});
