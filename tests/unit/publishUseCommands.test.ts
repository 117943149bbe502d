import { expect } from "chai";
import { BOOTSTRAP_TIMES } from "../../gpu/bootstrap.ts";
import { useCommands } from "../../publish/useCommands.ts";

describe("commands that use a pushed image", () => {
  const reference = `registry.example/llm/clef-serve@sha256:${"a".repeat(64)}`;
  const sets = [
    `  pulumi config set --path 'llm-serving:clefServe.image' ${reference} --stack prod`,
    "  pulumi config set --path 'llm-serving:clefServe.bootstrap' image --stack prod",
  ];

  it("are two where the stack states no cold start, or that of an image already", () => {
    for (const clefServe of [
      undefined,
      { bootstrap: "install" },
      { bootstrap: "image", coldStartSeconds: 90 },
    ]) {
      expect(useCommands("prod", reference, clefServe)).to.deep.equal(["To use it:", ...sets]);
    }
  });

  it("remove the cold start of another bootstrap, and say why", () => {
    for (const clefServe of [
      { coldStartSeconds: BOOTSTRAP_TIMES.install.coldStartSeconds },
      { bootstrap: "prepared", coldStartSeconds: BOOTSTRAP_TIMES.install.coldStartSeconds },
    ]) {
      expect(useCommands("prod", reference, clefServe)).to.deep.equal([
        "To use it:",
        ...sets,
        `The stack states llm-serving:clefServe.coldStartSeconds = ${BOOTSTRAP_TIMES.install.coldStartSeconds} for the ` +
          "bootstrap so far, which would win over an image's " +
          `${BOOTSTRAP_TIMES.image.coldStartSeconds} s. To remove it:`,
        "  pulumi config rm --path 'llm-serving:clefServe.coldStartSeconds' --stack prod",
      ]);
    }
  });
});
