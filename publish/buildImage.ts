import { spawn } from "node:child_process";
import { join } from "node:path";
import { PublishError } from "./publishError.ts";

const context = join(import.meta.dirname, "..", "images", "clef-serve");

const WITHOUT_ENGINE =
  "start a Docker engine (or set DOCKER_HOST), or build elsewhere and push that: make image ARCHIVE=<file>, an OCI " +
  "archive, an OCI layout's folder or what docker save wrote";

/**
 * Builds clef-serve's image with the Docker engine and saves it.
 * @param file where to save it
 * @param base base image instead of the Dockerfile's own
 * @throws {PublishError} when there is no engine, or the build fails; its output has been shown
 */
export async function buildImage(file: string, base?: string): Promise<void> {
  const engine = await docker(["version", "--format", "{{.Server.Version}}"], "ignore");
  if (engine !== 0) {
    const cause = engine === undefined ? "there is no docker command" : "no Docker engine answers";
    throw new PublishError(`docker build: ${cause}; ${WITHOUT_ENGINE}`);
  }
  const tag = "llm-serving/clef-serve:build";
  const args = base === undefined ? [] : ["--build-arg", `BASE=${base}`];
  // No provenance: it holds the time of the build, and would give equal images different digests.
  const env = { ...process.env, BUILDX_NO_DEFAULT_ATTESTATIONS: "1" };
  const steps = [
    ["build", "--platform", "linux/amd64", "--tag", tag, ...args, context],
    ["save", "--output", file, tag],
  ];
  for (const step of steps) {
    const code = await docker(step, "inherit", env);
    if (code !== 0) {
      throw new PublishError(
        `docker ${step[0] ?? ""} failed (exit code ${code ?? "none"}); see above`,
      );
    }
  }
}

/** @returns its exit code; undefined when there is no such command */
async function docker(
  args: readonly string[],
  output: "inherit" | "ignore",
  env: NodeJS.ProcessEnv = process.env,
): Promise<number | undefined> {
  const child = spawn("docker", args, { env, stdio: ["ignore", output, output] });
  return new Promise((resolve) => {
    child
      .once("error", () => {
        resolve(undefined);
      })
      .once("close", (code) => {
        resolve(code ?? 1);
      });
  });
}
