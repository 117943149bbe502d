import { readFileSync, writeFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { expect } from "chai";
import { Alerts } from "../../components/alerts.ts";
import { CoderPredictor } from "../../components/coderPredictor.ts";
import { Reviewer } from "../../components/reviewer.ts";
import { type Registered, registered } from "../support/mocks.ts";
import { completed, runProgram, stackFile } from "../support/program.ts";
import { knownUrns } from "./formerUrns.ts";

/** Every URN that a stack ever had, without its stack: it only grows. A name in it is in somebody's state. */
const FILE = new URL("urns.json", import.meta.url);

/** The ConfigMap is named by its content: another name is another object on purpose, made before the old one goes. */
const BY_CONTENT = /(\$kubernetes:core\/v1:ConfigMap::clef-serve-boot-)[0-9a-f]{10}$/;

const withoutStack = (urn: string): string =>
  urn.replace(/^urn:pulumi:[^:]+::/, "").replace(BY_CONTENT, "$1<hash>");

const committed = (): readonly string[] => JSON.parse(readFileSync(FILE, "utf8")) as string[];

/** Those of `wanted` by which no resource would be found. */
function lost(wanted: readonly string[], known: ReadonlySet<string>): string[] {
  const found = new Set([...known].map(withoutStack));
  return wanted.filter((urn) => !found.has(urn));
}

/** What a stack has only on a cluster with the Prometheus operator, or with `access.reviewer`. */
function optional(stack: string): Promise<readonly Registered[]> {
  return registered(stack, () => {
    const rules = { backend: "candle-vllm", workloads: [], gpuNodes: [] };
    new Alerts("alerts", { stack, kinds: ["PrometheusRule", "PodMonitor"], ...rules });
    new Reviewer("reviewer", { stack });
  });
}

describe("names are a contract", () => {
  for (const stack of ["dev", "prod"]) {
    it(`finds every name of the committed list in ${stack}, by itself or by an alias`, async () => {
      const { resources: always } = await runProgram(stack, completed(stackFile(stack)));
      const resources = [...always, ...(await optional(stack))];
      const own = resources.map(({ urn }) => withoutStack(urn));
      if (process.env.UPDATE_GOLDEN === "1") {
        const all = new Set([...committed(), ...own]);
        writeFileSync(FILE, `${JSON.stringify([...all].sort(), null, 2)}\n`);
      }
      expect(lost(committed(), knownUrns(resources)), "give the resource an alias").to.deep.equal(
        [],
      );
      const news = own.filter((urn) => !committed().includes(urn));
      expect(news, "write them down with `make golden`").to.deep.equal([]);
    });
  }

  const PREDICTOR = "llm-serving::llm-serving:index:CoderPredictor::coder-predictor";
  const SERVICE =
    "llm-serving::llm-serving:index:CoderPredictor$kubernetes:core/v1:Service::coder-predictor";
  const args = { stack: "test", backend: "candle-vllm" } as const;

  /** The names of {@link PREDICTOR} and {@link SERVICE} that nothing answers to. */
  async function lostBy(build: () => void): Promise<string[]> {
    return lost([PREDICTOR, SERVICE], knownUrns(await registered("test", build)));
  }

  it("loses nothing while the names stay", async () => {
    expect(
      await lostBy(() => {
        new CoderPredictor("coder-predictor", args);
      }),
    ).to.deep.equal([]);
  });

  it("fires when a logical name changes without an alias", async () => {
    expect(
      await lostBy(() => {
        new CoderPredictor("predictor", args);
      }),
    ).to.deep.equal([PREDICTOR]);
  });

  it("fires for the child too when it moves below another component", async () => {
    const lostNames = await lostBy(() => {
      new CoderPredictor("coder-predictor", args, {
        parent: new pulumi.ComponentResource("test:index:Parent", "x"),
      });
    });
    // The mocks leave grandparents out of a URN, so that the child keeps its own here.
    expect(lostNames).to.deep.equal([PREDICTOR]);
  });

  const parent = () => new pulumi.ComponentResource("test:index:Parent", "x");
  const aliased: readonly (readonly [string, () => void])[] = [
    ["a name", () => new CoderPredictor("coder", args, { aliases: [{ name: "coder-predictor" }] })],
    [
      "a whole URN",
      () => new CoderPredictor("coder", args, { aliases: [`urn:pulumi:test::${PREDICTOR}`] }),
    ],
    [
      "no parent",
      () =>
        new CoderPredictor("coder-predictor", args, {
          parent: parent(),
          aliases: [{ parent: pulumi.rootStackResource }],
        }),
    ],
  ];
  for (const [what, build] of aliased) {
    it(`takes ${what} as an alias, for the resource and for its child`, async () => {
      expect(await lostBy(build)).to.deep.equal([]);
    });
  }
});
