import * as docker from "@pulumi/docker";
import * as pulumi from "@pulumi/pulumi";

/** Arguments of {@link ClefServeImage}. Plain texts: what is built where must be readable in a preview. */
export interface ClefServeImageArgs {
  /** Repository without tag, host first. It is pushed to, and the digest must be its own. */
  readonly repository: string;
  /** Names the content of the folder, so that an older digest keeps a tag and no registry clears it away. */
  readonly tag: string;
  /**
   * Folder with the Dockerfile, relative to the program's. An absolute path would be another one in every clone, and so
   * a change in every preview.
   */
  readonly folder: string;
}

/**
 * clef-serve's image, built and pushed by the Docker engine: for registries that take a layer of some GiB in one
 * request. Where a proxy limits requests, `make image` pushes in chunks instead.
 *
 * A preview builds and pushes nothing. The provider compares the folder by names, modes and contents, not by times
 * (read in its source, version 4; it cannot be run on this project's machines, see docs/image.md).
 */
export class ClefServeImage extends pulumi.ComponentResource {
  /** `repository@sha256:<64 hex>`; unknown in a preview that would build. */
  readonly reference: pulumi.Output<string>;

  constructor(name: string, args: ClefServeImageArgs, opts?: pulumi.ComponentResourceOptions) {
    super("llm-serving:index:ClefServeImage", name, {}, opts);
    const { repository, tag, folder } = args;
    const image = new docker.Image(
      name,
      {
        imageName: `${repository}:${tag}`,
        buildOnPreview: false,
        skipPush: false,
        build: {
          context: folder,
          dockerfile: `${folder}/Dockerfile`,
          // The nodes' kind (derived). Unstated, it would follow the machine that builds.
          platform: "linux/amd64",
        },
      },
      { parent: this },
    );
    this.reference = image.repoDigest.apply((digest) => {
      const own = ownRepoDigest([digest], repository);
      if (own !== undefined) return own;
      throw new pulumi.ResourceError(
        `${repository}: the engine names ${digest} for what was pushed, another repository's digest (it keeps one for ` +
          "each registry that has the image); remove the other tags with docker rmi, then run this again",
        this,
        true,
      );
    });
    this.registerOutputs({ reference: this.reference });
  }
}

/**
 * The digest that one repository has for an image. An engine lists one for each registry that the image was pushed
 * to or pulled from, in an order of its own.
 * @param repoDigests `repository@sha256:<64 hex>` each
 * @returns undefined when none of them is the repository's
 */
export function ownRepoDigest(
  repoDigests: readonly string[],
  repository: string,
): string | undefined {
  // Docker leaves out the name of its default registry.
  const own = [repository, repository.replace(/^docker\.io\/(library\/)?/, "")];
  const found = repoDigests
    .map((each) => /^(.+)@(sha256:[0-9a-f]{64})$/.exec(each))
    .find((match) => match !== null && own.includes(match[1] ?? ""));
  return found?.[2] === undefined ? undefined : `${repository}@${found[2]}`;
}
