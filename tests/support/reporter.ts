import Mocha from "mocha";

/** Mocha's spec reporter, which ends with the run's counts in one plain line that CI reads. */
export default class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options?: Mocha.MochaOptions) {
    super(runner, options);
    runner.once(Mocha.Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures, pending } = this.stats;
      const skipped = pending === 0 ? "" : `, ${String(pending)} skipped`;
      console.log(`${String(passes)} passed, ${String(failures)} failed${skipped}`);
    });
  }
}
