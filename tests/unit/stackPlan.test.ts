import { expect } from "chai";
import { REVIEWER } from "../../components/reviewer.ts";
import { completed, runProgram, stackFile } from "../support/program.ts";
import { serverOf } from "../support/objects.ts";

type Section = Record<string, unknown>;

/** The dev stack with some values of one section replaced. */
function devWith(section: string, values: Section): ReturnType<typeof stackFile> {
  const config = completed(stackFile("dev"));
  const key = `llm-serving:${section}`;
  return { ...config, [key]: { ...config[key], ...values } };
}

async function refusalOf(config: ReturnType<typeof stackFile>): Promise<string> {
  try {
    await runProgram("dev", config);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "not refused";
}

describe("the program", () => {
  it("makes the reviewer where the stack asks for it, with rights to read alone", async () => {
    const made = async (reviewer: boolean) => {
      const { resources } = await runProgram("dev", devWith("access", { reviewer }));
      return resources.filter(({ urn }) => urn.includes(":Reviewer"));
    };
    expect(await made(false)).to.deep.equal([]);
    const resources = await made(true);
    expect(resources.map(({ urn }) => urn.split("::").slice(2).join(" "))).to.deep.equal([
      "llm-serving:index:Reviewer reviewer",
      ...[
        "core/v1:ServiceAccount",
        "rbac.authorization.k8s.io/v1:ClusterRole",
        "rbac.authorization.k8s.io/v1:ClusterRoleBinding",
        "rbac.authorization.k8s.io/v1:Role",
        "rbac.authorization.k8s.io/v1:RoleBinding",
      ].map((type) => `llm-serving:index:Reviewer$kubernetes:${type} ${REVIEWER}`),
    ]);
    const rules = resources.flatMap(
      ({ inputs }) => (inputs.rules ?? []) as { verbs: string[]; resources: string[] }[],
    );
    expect([...new Set(rules.flatMap(({ verbs }) => verbs))]).to.have.members(["get", "list"]);
    expect(rules.flatMap((rule) => rule.resources)).not.to.include("secrets");
  });

  it("D04 fixes the data type that V100 has, and knows no key that would change it", async () => {
    const { resources } = await runProgram("dev", completed(stackFile("dev")));
    const dtypes = { "candle-vllm": "f16", "candle-vllm-next": "f16", reasoning: "half" };
    for (const [name, dtype] of Object.entries(dtypes)) {
      const { args = [] } = serverOf(resources, name);
      expect(args[args.indexOf("--dtype") + 1], name).to.equal(dtype);
    }
    expect(await refusalOf(devWith("candleVllm", { dtype: "bfloat16" }))).to.include(
      "llm-serving:candleVllm.dtype",
    );
  });
});
