import * as pulumi from "@pulumi/pulumi";
import { expect } from "chai";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ClefServeImage, ownRepoDigest } from "../../components/clefServeImage.ts";
import { contentTag } from "../../images/program/contentTag.ts";
import { registered } from "../support/mocks.ts";

const repository = "registry.example/llm/clef-serve";
const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const sources = new URL("../../images/clef-serve/", import.meta.url);

/** What the component has for a reference after an update in which the engine names this digest. */
async function referenceFor(repoDigest: string): Promise<string> {
  await pulumi.runtime.setMocks(
    {
      newResource: ({ name, inputs }) => ({
        id: `${name}-id`,
        state: { ...(inputs as Record<string, unknown>), repoDigest },
      }),
      call: () => ({}),
    },
    "llm-serving-image",
    "test",
    false,
  );
  const image = new ClefServeImage("clef-serve", { repository, tag: "t", folder: "f" });
  return new Promise((resolve, reject) => {
    image.reference.apply(resolve);
    // A failed apply has no other way out of an Output.
    (image.reference as unknown as { promise(): Promise<string> }).promise().catch(reject);
  });
}

describe("ClefServeImage", () => {
  const build = (tag: string) =>
    registered("test", () => {
      new ClefServeImage("clef-serve", { repository, tag, folder: "../clef-serve" });
    });

  it("E05: asks for no build and no push in a preview, and for a known platform", async () => {
    const [component, image, ...more] = await build("src-1");
    expect(more).to.deep.equal([]);
    expect(component?.urn).to.match(/::llm-serving:index:ClefServeImage::clef-serve$/);
    expect(image?.parent).to.equal(component?.urn);
    expect(image?.inputs).to.deep.equal({
      imageName: `${repository}:src-1`,
      buildOnPreview: false,
      skipPush: false,
      build: {
        context: "../clef-serve",
        dockerfile: "../clef-serve/Dockerfile",
        platform: "linux/amd64",
      },
    });
  });

  it("is what the program for it registers, with the folder relative to the program", async () => {
    const [, image] = await registered("test", async () => {
      pulumi.runtime.setAllConfig({ "llm-serving-image:repository": repository });
      await import("../../images/program/index.ts");
    });
    expect(image?.inputs).to.include({ imageName: `${repository}:${contentTag(sources)}` });
    expect(image?.inputs.build).to.include({ context: "../clef-serve" });
  });

  it("E06: two clones in other folders with other file times state the same, an edit does not", async () => {
    const folders = [mkdtempSync(join(tmpdir(), "a-")), mkdtempSync(join(tmpdir(), "another-"))];
    try {
      const tags = folders.map((folder, at) => {
        cpSync(sources, folder, { recursive: true });
        for (const name of readdirSync(folder)) utimesSync(join(folder, name), at, 1000 * at);
        // What running the server leaves behind is no source.
        writeFileSync(join(folder, `server.pyc`), String(at));
        return contentTag(pathToFileURL(`${folder}/`));
      });
      const [a = "", b = ""] = tags;
      const first = await build(a);
      const second = await build(b);
      expect(first).to.deep.equal(second);
      expect(JSON.stringify(first)).not.to.include(tmpdir());
      for (const name of readdirSync(sources).filter((each) =>
        /^(Docker|.*\.(txt|py)$)/.test(each),
      )) {
        const file = join(folders[0] ?? "", name);
        const before = readFileSync(file);
        writeFileSync(file, "# edited\n", { flag: "a" });
        expect(contentTag(pathToFileURL(`${folders[0] ?? ""}/`)), name).not.to.equal(tags[0]);
        writeFileSync(file, before);
      }
    } finally {
      for (const folder of folders) rmSync(folder, { recursive: true });
    }
  });

  it("E08: picks the configured registry's digest out of two, in either order", () => {
    const two = [`other.example/llm/clef-serve@${digest("a")}`, `${repository}@${digest("b")}`];
    for (const list of [two, two.toReversed()]) {
      expect(ownRepoDigest(list, repository)).to.equal(`${repository}@${digest("b")}`);
    }
  });

  it("E08: takes neither a longer path, nor a host that only ends the same, nor an image id", () => {
    const foreign = [
      `${repository}/x@${digest("a")}`,
      `a${repository}@${digest("a")}`,
      digest("a"),
    ];
    expect(ownRepoDigest(foreign, repository)).to.equal(undefined);
    expect(ownRepoDigest([`me/x@${digest("a")}`], "docker.io/me/x")).to.equal(
      `docker.io/me/x@${digest("a")}`,
    );
  });

  it("E08: exports repo@digest, and fails instead of passing on another registry's", async () => {
    expect(await referenceFor(`${repository}@${digest("b")}`)).to.equal(
      `${repository}@${digest("b")}`,
    );
    const refused = await referenceFor(`other.example/llm/clef-serve@${digest("a")}`).catch(String);
    expect(refused).to.include("another repository's digest").and.include("docker rmi");
  });
});
