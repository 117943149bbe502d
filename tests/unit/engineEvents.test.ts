import { expect } from "chai";
import { readEngineEvents, withoutPackFolders } from "../../review/engineEvents.ts";
import { droppedGuards, resourceChanges } from "../../review/resourceChange.ts";
import { eventLog, step } from "./reviewFixtures.ts";

const line = (event: object): string => `${JSON.stringify(event)}\n`;
const message = (severity: string, text: string) =>
  line({ diagnosticEvent: { severity, message: text, color: "never" } });

describe("readEngineEvents", () => {
  it("keeps errors and warnings once each, without colours, debug lines and the last word", () => {
    const { errors, warnings, succeeded } = readEngineEvents(
      message("debug", "Registering resource") +
        message("error", "<{%fg 1%}>no such card<{%reset%}>\n") +
        message("error", "no such card") +
        message("warning", "8 points to look at") +
        message("error", "preview failed") +
        line({ summaryEvent: { result: "failed" } }),
    );
    expect({ errors, warnings, succeeded }).to.deep.equal({
      errors: ["no such card"],
      warnings: ["8 points to look at"],
      succeeded: false,
    });
  });

  it("has succeeded only when the engine says so at its end", () => {
    expect(readEngineEvents(eventLog([])).succeeded).to.equal(true);
    expect(readEngineEvents("").succeeded).to.equal(false);
    // A CLI that was killed while it wrote.
    const cut = `${eventLog([]).replace("succeeded", "failed")}\n{"summaryEvent": {"resu`;
    expect(readEngineEvents(cut).succeeded).to.equal(false);
  });

  it("leaves the folder of a policy pack out, with blanks in it or none", () => {
    const policies = "  llm-serving|local|/home/a b/policy  1.0.0\nerror: pack|local|/x/policy\n";
    expect(withoutPackFolders(policies)).to.equal("  llm-serving  1.0.0\nerror: pack\n");
  });

  it("takes a replacement as one step, and null for what is not there", () => {
    const sides = { old: {}, new: {} };
    const log = eventLog([
      step("create-replacement", "Service clef-serve", sides, { logical: false }),
      step("replace", "Service clef-serve", sides),
      step("delete-replaced", "Service clef-serve", sides, { logical: false }),
      { ...step("create", "Service other", { new: {} }), ...{ old: null } } as never,
    ]);
    const { steps } = readEngineEvents(log);
    expect(resourceChanges(steps).map(({ operation, name }) => [operation, name])).to.deep.equal([
      ["replace", "clef-serve"],
      ["create", "other"],
    ]);
    expect(droppedGuards(steps)).to.deep.equal([]);
  });

  it("names a pack without the folder that it lies in", () => {
    const log = line({ summaryEvent: { PolicyPacks: { "llm-serving|local|policy": "1.0.0" } } });
    expect(readEngineEvents(log).policyPacks).to.deep.equal({ "llm-serving": "1.0.0" });
  });
});

describe("resourceChanges", () => {
  it("leaves out components, and finds each field by its name", () => {
    const env = (value: string) => ({
      inputs: {
        spec: {
          template: { spec: { containers: [{ name: "server", env: [{ name: "A", value }] }] } },
        },
      },
    });
    const component = step("update", "llm-serving:index:ClefServe clef-serve", {
      old: {},
      new: {},
    });
    const changes = resourceChanges([
      { ...component, old: undefined, new: { ...component.new, custom: false } } as never,
      step("update", "Deployment clef-serve", { old: env("1"), new: env("2") }),
    ]);
    expect(changes).to.have.length(1);
    expect(changes[0]?.fields).to.deep.equal([
      { path: "spec.template.spec.containers[server].env[A].value", before: "1", after: "2" },
    ]);
  });

  it("takes the provider's word where the inputs are equal, as after a refresh", () => {
    const [change] = resourceChanges([
      step("update", "Service clef-serve", { old: {}, new: {} }, {
        detailedDiff: { "spec.ports[0].targetPort": {} },
      } as never),
    ]);
    expect(change?.fields.map(({ path }) => path)).to.deep.equal(["spec.ports[0].targetPort"]);
  });
});
